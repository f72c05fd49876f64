//go:build !race

package shop

const race = false
