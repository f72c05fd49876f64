module github.com/weftrpc/weft/plugin/internal/cost

go 1.26.0

require (
	github.com/go-jose/go-jose/v4 v4.1.8
	github.com/prometheus/client_golang v1.25.0
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/plugin/jwt v0.0.0
	github.com/weftrpc/weft/plugin/otel v0.0.0
	github.com/weftrpc/weft/plugin/prometheus v0.0.0
	github.com/weftrpc/weft/plugin/protovalidate v0.0.0
	go.opentelemetry.io/otel/metric v1.47.0
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/otel/sdk/metric v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
	google.golang.org/protobuf v1.36.12
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.1 // indirect
	buf.build/go/protovalidate v1.4.0 // indirect
	cel.dev/cel-go v0.32.0 // indirect
	cel.dev/expr v0.25.3 // indirect
	github.com/antlr4-go/antlr/v4 v4.13.1 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/exp v0.0.0-20260820142414-ca536658362e // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260819154853-08b0e4226688 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260819154853-08b0e4226688 // indirect
)

replace (
	github.com/weftrpc/weft => ../../..
	github.com/weftrpc/weft/door/grpc => ../../../door/grpc
	github.com/weftrpc/weft/plugin/jwt => ../../jwt
	github.com/weftrpc/weft/plugin/otel => ../../otel
	github.com/weftrpc/weft/plugin/prometheus => ../../prometheus
	github.com/weftrpc/weft/plugin/protovalidate => ../../protovalidate
)
