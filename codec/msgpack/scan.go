package msgpack

// scanTo reports what is wrong with body as an encoding of exactly one value, in
// which at most depth containers are in one another.
func scanTo(body []byte, depth int) error {
	s := source{body: body}
	if end := s.skip(0, depth); end >= 0 && end < len(body) {
		s.fail("%d bytes behind the value", len(body)-end)
	}
	return s.err
}
