//go:build race

package shop

const race = true
