// Package collector tests plugin/otel with a real collector of OpenTelemetry. It is a module of its own that no other command visits: the collector
// has several hundred packages. Make test-long runs it.
package collector
