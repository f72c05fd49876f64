// Package places is generated from a .thrift file that another one includes.
package places
