package main

import (
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/acl"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/concurrency"
	"github.com/weftrpc/weft/plugin/fault"
	"github.com/weftrpc/weft/plugin/quota"
	"github.com/weftrpc/weft/plugin/ratelimit"
	"github.com/weftrpc/weft/plugin/reserve"
)

// limits are the plugins that refuse calls, in configurations that refuse none, and cache and fault.
func limits() ([]setup, error) {
	rules, err := acl.New(acl.Rules{Allow: []acl.Rule{{Methods: []string{"Cost.*"}, Networks: []string{"127.0.0.0/8"}}}})
	if err != nil {
		return nil, err
	}
	rate, err := ratelimit.New(&ratelimit.Config{Limits: []ratelimit.Limit{{By: ratelimit.Server, Rate: 1e9}, {By: ratelimit.Address, Rate: 1e9}}})
	if err != nil {
		return nil, err
	}
	inFlight, err := concurrency.New(&concurrency.Config{Limits: []concurrency.Limit{{By: concurrency.Server, Calls: 1e6}, {By: concurrency.Address, Calls: 1e6}}})
	if err != nil {
		return nil, err
	}
	window, err := quota.New(&quota.Config{Quotas: []quota.Quota{{By: quota.Address, Calls: 1e15, Every: time.Hour}}})
	if err != nil {
		return nil, err
	}
	part, err := reserve.New(&reserve.Config{Percent: 10})
	if err != nil {
		return nil, err
	}
	replies, err := cache.New(&cache.Config{Methods: map[string]time.Duration{"Cost.Echo": time.Hour}})
	if err != nil {
		return nil, err
	}
	faults, err := fault.New(fault.Rule{Methods: []string{"Other.*"}, Percent: 100, Code: weft.Unavailable})
	if err != nil {
		return nil, err
	}
	of := func(name string, p weft.Plugin) setup { return setup{name: name, server: []weft.Plugin{p}} }
	return []setup{of("acl, by method and address", rules.Plugin()), of("ratelimit, of two limits", rate.Plugin()),
		of("concurrency, of two limits", inFlight.Plugin()), of("quota, by address", window.Plugin()), of("reserve", part.Plugin()),
		of("cache, with its reply in the cache", replies.Plugin()), of("fault, without a rule for the method", faults.Plugin())}, nil
}
