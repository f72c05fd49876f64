package target

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// Servers that do not answer leave time for those behind them.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		instances := []weft.Instance{{Address: "a"}, {Address: "b"}, {Address: "c"}, {Address: "d"}}
		began := time.Now()
		var asked []string
		err := Each(ctx, instances, func(ctx context.Context, address string) error {
			if asked = append(asked, address); address == "c" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); err != nil || !slices.Equal(asked, []string{"a", "b", "c"}) || took != 6*time.Second {
			t.Errorf("%v were asked in %v: %v", asked, took, err)
		}
		// Shares do not become so small that no server can answer.
		asked = nil
		err = Each(ctx, make([]weft.Instance, 100), func(ctx context.Context, address string) error {
			asked = append(asked, address)
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || len(asked) != 6 {
			t.Errorf("%d of 100 servers were asked in 6 s: %v", len(asked), err)
		}
	})
}
