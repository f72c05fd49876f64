package wire

import "fmt"

// AppendBind appends the payload of a BIND frame. Both names must have passed
// CheckName and CheckMethod.
func AppendBind(dst []byte, codec, method string) []byte {
	dst = append(dst, byte(len(codec)))
	dst = append(dst, codec...)
	return append(dst, method...)
}

// ParseBind reads the payload of a BIND frame and checks both names. The results
// share memory with b.
func ParseBind(b []byte) (codec, method []byte, err error) {
	if len(b) == 0 {
		return nil, nil, fmt.Errorf("empty binding")
	}
	n := int(b[0])
	if len(b) < 1+n {
		return nil, nil, fmt.Errorf("binding claims a codec name of %d bytes, %d are left", n, len(b)-1)
	}
	codec, method = b[1:1+n], b[1+n:]
	if err := CheckName(string(codec)); err != nil {
		return nil, nil, fmt.Errorf("binding has a codec %w", err)
	}
	if err := CheckMethod(string(method)); err != nil {
		return nil, nil, fmt.Errorf("binding has a %w", err)
	}
	return codec, method, nil
}
