//go:build race

package adversary

// memoryScale is by how much the race detector makes memory grow.
const memoryScale = 4
