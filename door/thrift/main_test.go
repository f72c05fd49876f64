package thrift_test

import (
	"testing"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) {
	apache.ServerConnectivityCheckInterval = 0 // generated servers start a goroutine for each call otherwise
	leak.Main(m)
}
