package wiretag

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads the struct tag of a field: its number, and the options behind that. The numbers are those of codec/protobuf.
func Parse(tag string) (number int, options string, err error) {
	text, options, _ := strings.Cut(tag, ",")
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n < 1 || n >= 1<<29 || n >= 19000 && n < 20000 {
		return 0, "", fmt.Errorf("it has no field number: give it a tag such as `weft:\"1\"`, up to 536870911 and not from 19000 to 19999, or `weft:\"-\"`")
	}
	return int(n), options, nil
}
