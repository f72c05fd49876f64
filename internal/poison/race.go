//go:build race

package poison

// Enabled says that memory is to be overwritten before it is used again.
const Enabled = true
