package carriers

// Waiting is how many callers wait for room.
func Waiting(c *Conns) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}
