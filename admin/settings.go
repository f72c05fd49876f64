package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
)

// ConfigRequest is the request of weft.Admin.Config.
type ConfigRequest struct {
	Prefix string `json:"prefix,omitempty" weft:"1" doc:"only settings whose names begin so, such as Limits.; empty: all"`
}

// Settings are the configuration in effect.
type Settings struct {
	Settings []Setting `json:"settings" weft:"1" doc:"those of weft.ServerConfig in its order, then those of package admin, then the program's own by name"`
}

// Setting is one value of the configuration.
type Setting struct {
	Name    string `json:"name" weft:"1" doc:"as in weft.ServerConfig, with a dot between the parts"`
	Value   string `json:"value" weft:"2" doc:"in effect; secrets are masked"`
	Default string `json:"default,omitempty" weft:"3" doc:"the value without a configuration, where there is one"`
}

// config answers Config.
func (s *service) config(_ context.Context, req *ConfigRequest) (*Settings, error) {
	c := s.srv.Config()
	all := &settings{prefix: req.Prefix}
	all.server(&c)
	all.instances(&c)
	all.limits(&c)
	all.admin(&s.cfg)
	if s.cfg.Settings != nil {
		own := s.cfg.Settings()
		for _, name := range slices.Sorted(maps.Keys(own)) {
			all.add(name, Masked(name, own[name]), "")
		}
	}
	return &Settings{all.out}, nil
}

// settings collects what a request asks for.
type settings struct {
	prefix string
	out    []Setting
}

func (s *settings) add(name string, value, normal any) {
	if strings.HasPrefix(name, s.prefix) {
		s.out = append(s.out, Setting{name, fmt.Sprint(value), fmt.Sprint(normal)})
	}
}

// server adds what a server is made of.
func (s *settings) server(c *weft.ServerConfig) {
	s.add("Transports", join(c.Transports, func(t interface{ Scheme() string }) string { return t.Scheme() }), "tcp, unix")
	s.tls(c.TLS)
	codecs := c.Codecs
	if codecs == nil {
		codecs = weft.DefaultCodecs()
	}
	name := func(v interface{ Name() string }) string { return v.Name() }
	s.add("Codecs", join(codecs, name), join(weft.DefaultCodecs(), name))
	s.add("Compressors", join(c.Compressors, name), "none")
	compressor := "none"
	if c.Compressor != nil {
		compressor = c.Compressor.Name()
	}
	s.add("Compressor", compressor, "none")
	s.add("Checksum", c.Checksum, false)
	s.add("Authenticate", set(c.Authenticate != nil), "not set")
	s.add("AuthenticateConn", set(c.AuthenticateConn != nil), "not set")
	s.add("Interceptors", len(c.Interceptors), 0)
	s.add("StreamInterceptors", len(c.StreamInterceptors), 0)
	s.add("Hooks", join(c.Hooks, func(h any) string { return fmt.Sprintf("%T", h) }), "none")
	s.add("Plugins", join(c.Plugins, func(p weft.Plugin) string { return cmp.Or(p.Name, "without a name") }), "none")
	s.add("Doors", join(c.Doors, name), "none")
	s.add("Timeout", orNone(c.Timeout), weft.DefaultTimeout)
}

// tls adds what is known of TLS. Nothing of its keys is shown.
func (s *settings) tls(c *tls.Config) {
	if c == nil {
		s.add("TLS", "off", "off")
		return
	}
	s.add("TLS", "on", "off")
	least := "of package crypto/tls"
	if c.MinVersion != 0 {
		least = tls.VersionName(c.MinVersion)
	}
	s.add("TLS.MinVersion", least, "")
	s.add("TLS.ClientAuth", c.ClientAuth, tls.NoClientCert)
	s.add("TLS.NextProtos", strings.Join(c.NextProtos, ", "), "")
	s.add("TLS.GetCertificate", set(c.GetCertificate != nil), "not set")
	for i, cert := range c.Certificates {
		if leaf := cert.Leaf; leaf != nil {
			s.add("TLS.Certificates."+strconv.Itoa(i), fmt.Sprintf("%s for %s, until %s", leaf.Subject, strings.Join(leaf.DNSNames, ", "), leaf.NotAfter.Format(time.RFC3339)), "")
		}
	}
}

// instances adds what is published in a registry.
func (s *settings) instances(c *weft.ServerConfig) {
	if c.Registry == nil {
		s.add("Registry", "none", "none")
		return
	}
	s.add("Registry", fmt.Sprintf("%T", c.Registry), "none")
	s.instance("Instance.", &c.Instance)
	for _, name := range slices.Sorted(maps.Keys(c.Instances)) {
		i := c.Instances[name]
		s.instance("Instances."+name+".", &i)
	}
	s.add("LoadReportInterval", orNone(c.LoadReportInterval), weft.DefaultLoadReportInterval)
}

func (s *settings) instance(prefix string, i *weft.Instance) {
	s.add(prefix+"ID", i.ID, "")
	s.add(prefix+"Address", i.Address, "")
	s.add(prefix+"Weight", i.Weight, weft.DefaultWeight)
	s.add(prefix+"Group", i.Group, "")
	s.add(prefix+"Version", i.Version, "")
	s.add(prefix+"Zone", i.Zone, "")
	s.add(prefix+"State", i.State, weft.On)
	for _, k := range slices.Sorted(maps.Keys(i.Tags)) {
		s.add(prefix+"Tags."+k, Masked(k, i.Tags[k]), "")
	}
}

// limits adds the limits.
func (s *settings) limits(c *weft.ServerConfig) {
	l := &c.Limits
	s.add("Limits.MaxMessage", l.MaxMessage, weft.DefaultMaxMessage)
	s.add("Limits.MaxMetadata", l.MaxMetadata, weft.DefaultMaxMetadata)
	s.add("Limits.MaxCalls", l.MaxCalls, weft.DefaultMaxCalls)
	s.add("Limits.MaxCallBytes", l.MaxCallBytes, weft.DefaultMaxCallBytes)
	s.add("Limits.MaxStreamBytes", l.MaxStreamBytes, weft.DefaultMaxStreamBytes)
	s.add("Limits.MaxOrdered", l.MaxOrdered, weft.DefaultMaxOrdered)
	s.add("Limits.MaxBindings", l.MaxBindings, weft.DefaultMaxBindings)
	s.add("Limits.StreamWindow", l.StreamWindow, weft.DefaultStreamWindow)
	s.add("Limits.WriteBuffer", l.WriteBuffer, weft.DefaultWriteBuffer)
	s.add("Limits.WriteTimeout", l.WriteTimeout, weft.DefaultWriteTimeout)
	s.add("Limits.PingInterval", l.PingInterval, weft.DefaultPingInterval)
	s.add("Limits.PingIdle", l.PingIdle, weft.DefaultPingIdle)
	s.add("Limits.PingTimeout", l.PingTimeout, weft.DefaultPingTimeout)
	s.add("Limits.HandshakeTimeout", l.HandshakeTimeout, weft.DefaultHandshakeTimeout)
	s.add("Limits.CompressAbove", l.CompressAbove, weft.DefaultCompressAbove)
	s.add("Overload.Off", c.Overload.Off, false)
	s.add("Overload.MaxInFlight", c.Overload.MaxInFlight, 0)
	s.add("Overload.MayBeCritical", set(c.Overload.MayBeCritical != nil), "not set")
	s.add("MaxPending", c.MaxPending, weft.DefaultMaxPending)
	s.add("MaxConns", c.MaxConns, 0)
	s.add("MaxMemory", c.MaxMemory, 0)
	s.add("DrainTimeout", c.DrainTimeout, weft.DefaultDrainTimeout)
}

// admin adds what package admin was given.
func (s *settings) admin(c *Config) {
	token := "none"
	if c.Token != "" {
		token = mask
	}
	s.add("admin.Token", token, "none")
	s.add("admin.Authenticate", set(c.Authenticate != nil), "not set")
	s.add("admin.ReadOnly", c.ReadOnly, false)
	s.add("admin.Bodies", c.Bodies, false)
	s.add("admin.MaxStreams", c.MaxStreams, DefaultMaxStreams)
	s.add("admin.LogLevel", set(c.LogLevel != nil), "not set")
	s.add("admin.Shutdown", set(c.Shutdown != nil), "not set")
	s.add("admin.Clusters", join(slices.Sorted(maps.Keys(c.Clusters)), func(name string) string { return name }), "none")
}

// join lists values by their names.
func join[T, I any](all []T, name func(I) string) string {
	names := make([]string, 0, len(all))
	for _, v := range all {
		names = append(names, name(any(v).(I)))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// set says whether a function is set.
func set(yes bool) string {
	if yes {
		return "set"
	}
	return "not set"
}

// orNone is a duration of which one below zero means none.
func orNone(d time.Duration) string {
	if d < 0 {
		return "none"
	}
	return d.String()
}
