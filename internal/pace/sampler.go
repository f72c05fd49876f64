package pace

// Sampler chooses which of the calls that run on a goroutine that reads are timed. It belongs to that goroutine.
type Sampler uint32

// SampleEvery is how many calls a timed one stands for.
const SampleEvery = 16

// Next is how many calls the next one stands for; 0: it is not timed.
func (s *Sampler) Next() int32 {
	if *s++; *s%SampleEvery == 0 {
		return SampleEvery
	}
	return 0
}
