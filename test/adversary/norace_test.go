//go:build !race

package adversary

// memoryScale is by how much the race detector makes memory grow, were it there.
const memoryScale = 1
