package admin

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"
)

// A tap shows a struct that embeds a generated message with its own fields: its methods know nothing of them.
func TestBodyOfEmbeddedMessage(t *testing.T) {
	type timed struct {
		*durationpb.Duration
		Name string
	}
	s := &service{}
	if text := s.body("A.M", &timed{durationpb.New(5), "x"}, 1000); !strings.Contains(text, `"Name":"x"`) {
		t.Errorf("shown as %s", text)
	}
	if text := s.body("A.M", durationpb.New(5), 1000); text != `"0.000000005s"` {
		t.Errorf("a generated message is shown as %s", text)
	}
}
