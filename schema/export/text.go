package export

import (
	"encoding/json"
	"strings"

	"github.com/weftrpc/weft/schema/internal/naming"
)

// header is the first line of files that are written, behind the sign of a comment.
const header = "Written by weft schema. Do not edit."

// paragraphs joins the texts that are not empty.
func paragraphs(texts ...string) string {
	var all []string
	for _, text := range texts {
		if text = naming.Clean(text); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// quote makes a string literal for .proto files, TypeScript and Python.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""` // a text can always be encoded
	}
	return string(b)
}
