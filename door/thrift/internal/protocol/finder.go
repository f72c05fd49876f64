package protocol

// Finder finds the end of a message without a frame of which more and more bytes come. The zero value is ready, and is so
// again when an end was found.
type Finder struct {
	head int // the bytes before the struct; 0: they have not come
	scan Scanner
	text TextScanner
}

// Find goes on in b, which begins with the message and is never shorter than before. It returns how many bytes the message has; 0: it
// has not come as a whole. The struct of the message may have most bytes.
func (f *Finder) Find(b []byte, form Form, most int) (size int, err error) {
	if f.head == 0 {
		_, n, err := ReadHead(b, form)
		if err != nil || n == 0 {
			return 0, err
		}
		if size := wholeStruct(b[n:], form); size > 0 && size <= most {
			return n + size, nil
		}
		f.head = n
		f.scan.Reset(form == Compact, most)
		f.text.Reset(most + Envelope)
	}
	end, done := 0, false
	if form == JSON {
		end, done, err = f.text.Scan(b)
	} else {
		end, done, err = f.scan.Scan(b[f.head:])
		end += f.head
	}
	if err != nil || !done {
		return 0, err
	}
	f.head = 0
	return end, nil
}
