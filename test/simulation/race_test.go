//go:build race

package simulation

// normalSeeds is how many seeds are run without a flag: 'make simulate' runs more, without the
// race detector.
const normalSeeds = 150
