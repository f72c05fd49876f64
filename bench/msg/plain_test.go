package msg

import "testing"

func TestPlainMessages(t *testing.T) {
	plain, gencode := NewPlain(), NewGencode()
	if plain.Field1 != Text || plain.Field280 != Number || plain.Field22 != Number || !plain.Field59 || plain.Field129 != Text {
		t.Errorf("a field was left out: %+v", plain)
	}
	if gencode.Field1 != Text || gencode.Field280 != Number || gencode.Field22 != Number || !gencode.Field59 || gencode.Field129 != Text {
		t.Errorf("a field was left out: %+v", gencode)
	}
	if len(gencode.Field5) != 0 {
		t.Error("field5 must stay empty")
	}
	if CheckPlain(Say, plain) == nil {
		t.Error("a request passes for its reply")
	}
	service := NewService()
	for _, m := range Methods() {
		service.AnswerPlain(m, plain)
		if err := CheckPlain(m, plain); err != nil {
			t.Error(err)
		}
	}
}
