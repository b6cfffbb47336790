package dovetail

import (
	"errors"
	"fmt"
)

// ErrLost is the error of an experiment when the broker no longer knows its session, or has left:
// its runs are gone.
var ErrLost = errors.New("the broker does not know this session any more")

// ProtocolError says why a frame or a value in it cannot be read; Code is the code that the sender gets.
type ProtocolError struct {
	Code string
	Text string
}

func (e *ProtocolError) Error() string { return e.Text }

func protocolErrorf(code, format string, args ...any) *ProtocolError {
	return &ProtocolError{code, fmt.Sprintf(format, args...)}
}

// RefusedError is an error that came from the broker in answer to a request or to hello.
type RefusedError struct {
	Code string
	Text string
}

func (e *RefusedError) Error() string { return line(e.Text) }

// IllegalActionError is what an Environment's Step returns if the rules refuse the action of a seat.
// The episode stays as it was.
type IllegalActionError struct {
	Seat int
	Text string
}

func (e *IllegalActionError) Error() string { return e.Text }

// Illegal returns an IllegalActionError.
func Illegal(seat int, format string, args ...any) error {
	return &IllegalActionError{seat, fmt.Sprintf(format, args...)}
}
