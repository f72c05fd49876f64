package logger

import "time"

// repeat is how often an error that stays the same is logged.
const repeat = time.Minute

// Repeated tells which errors of something that is tried again and again are logged: the first, those with another text, and
// of the others one a minute. The zero value is ready.
type Repeated struct {
	text string
	at   time.Time // when it was logged
}

// Allow reports whether an error is to be logged now.
func (r *Repeated) Allow(err error) bool {
	now, text := time.Now(), err.Error()
	if text == r.text && now.Sub(r.at) < repeat {
		return false
	}
	r.text, r.at = text, now
	return true
}
