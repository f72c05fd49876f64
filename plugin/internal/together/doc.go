// Package together holds every pair of plugins to what each of them promises alone: its tests make
// servers and clients with two of them, in both orders, and with all, and make calls, streams and
// refusals over weft's own wire and HTTP.
package together
