// Package overload decides which calls a server takes when more come than it can answer in
// time. It is pure: it starts no goroutine, reads no clock and holds no call; its users tell
// it what happens and when.
//
// Three rules refuse calls. Each needs evidence, so that a server that answers in time
// refuses none.
//
//   - Wait, for all calls of a server. Its signal is how long calls wait for a processor,
//     from when they were read until their handlers start. While even the promptest of them
//     wait too long there is a queue that does not go away, and the number of calls
//     in flight is limited until it has gone: the idea of CoDel (Nichols, Jacobson:
//     Controlling Queue Delay, ACM Queue 2012), with the limit as its means as in
//     Facebook's wangle and WeChat's DAGOR (Zhou et al., SoCC 2018), whose signal is this
//     one. It needs no knowledge of the methods, and does not see what waits behind them. The
//     limit goes as low as keeps the processors busy: the time in which fewer calls are in flight
//     than there are processors raises it, by the more the longer that was.
//   - Guard, for the calls of a method. By Little's law a call that joins n others is
//     answered after about n/x, where x is the rate of completions. Where that is more than
//     half of the time that the call has, it is refused. This bounds every queue
//     behind the server, such as that of a pool, by the patience of the callers.
//   - Probe, for the calls of a method. Where they take much longer than they used to, a
//     few less are let in for a moment. As many completions as before mean that the
//     rest only waited in a queue, and the limit stays; fewer mean that the method
//     has become slower, and the limit goes. This is the question that Vegas (Brakmo,
//     Peterson, 1995) and Netflix's concurrency-limits answer by assuming that latency above
//     the least means a queue, which is wrong for methods whose latency varies.
//
// A limit is what calls of class Default may use; Sheddable ones get two thirds of it, Critical
// ones a third more, and at least as many places more as are free again in the time for which they
// may wait longer. While the first rule limits calls, the users have each Critical call above the
// limit take the place of one that waits for a processor and is not Critical, if there is one: it
// would wait behind that.
//
// The path of a call (Admit, Started, Ended) takes no lock and allocates nothing. Once in a
// window one of the calls finds that the window is over, and closes it, if no other does.
package overload
