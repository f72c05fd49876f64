package balance

// Check returns an error if a parameter of the balancer is wrong, such as a size below
// zero. A client calls it once, when it is made. A balancer that is not checked uses its
// defaults in place of wrong parameters.
//
// It calls the method Check() error of the balancer. A balancer without one has no
// parameters to be wrong, and so has nil, which stands for the default. A wrapper checks
// the balancer inside by calling Check.
func Check(b Balancer) error {
	if c, ok := b.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}
