//go:build !race

package simulation

// normalSeeds is how many seeds are run without a flag.
const normalSeeds = 3000
