package catalog

import (
	"slices"
	"strings"

	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/health"
)

// Own reports whether a service is one that weft or gRPC adds to a server to operate it: administration, health
// and reflection. Lists leave them out unless all are asked for.
func Own(service string) bool {
	return service == admin.Service || service == health.Service || service == "grpc.health.v1.Health" ||
		strings.HasPrefix(service, "grpc.reflection.") || strings.HasPrefix(service, "grpc.channelz.")
}

// WithoutOwn returns services without those that Own reports, and how many these are.
func WithoutOwn(services []string) (others []string, own int) {
	others = slices.DeleteFunc(slices.Clone(services), Own)
	return others, len(services) - len(others)
}

// OthersOrOwn returns services without those that Own reports, or these when there are no others.
func OthersOrOwn(services []string) []string {
	if others, _ := WithoutOwn(services); len(others) > 0 {
		return others
	}
	return services
}
