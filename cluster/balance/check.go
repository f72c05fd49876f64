package balance

// Check returns what is wrong with the parameters of a balancer, nil if nothing is.
// A client calls it once, when it is made: a negative size or window is an error
// there, not a default.
//
// A balancer with parameters has a method Check() error, and a wrapper calls Check
// for the balancer inside as well. One without the method has nothing to be wrong,
// and nil, which stands for the default, neither.
func Check(b Balancer) error {
	if c, ok := b.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}
