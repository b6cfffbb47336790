package dovetail

import (
	"errors"
	"syscall"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// mostBytes is the size of the largest frame that is taken from the broker; a larger one costs it the connection.
const mostBytes = 1 << 31

// unread is how many messages may wait for the broker to read them, and unreadWait for how long when they do (S11.4).
const (
	unread     = 100
	unreadWait = time.Second
)

var errUnread = errors.New("the broker reads nothing")

// dealer is a DEALER socket of libzmq, which connects again by itself and keeps what is sent meanwhile.
type dealer struct {
	context *zmq.Context
	socket  *zmq.Socket
	events  *zmq.Socket // tells how its handshakes end
}

// newDealer connects, with a key unless that is nil.
func newDealer(address string, key *key) (*dealer, error) {
	context, err := zmq.NewContext()
	if err != nil {
		return nil, err
	}
	s, err := context.NewSocket(zmq.DEALER)
	if err != nil {
		_ = context.Term()
		return nil, err
	}
	d := &dealer{context: context, socket: s}
	if d.events, err = context.NewSocket(zmq.PAIR); err != nil {
		d.close(false)
		return nil, err
	}
	const name = "inproc://handshakes"
	for _, err := range []error{
		s.SetReconnectIvl(100 * time.Millisecond),
		s.SetReconnectIvlMax(time.Second),
		s.SetHeartbeatIvl(5 * time.Second),
		s.SetMaxmsgsize(mostBytes),
		s.SetSndhwm(unread),
		s.SetSndtimeo(unreadWait),
		s.SetRcvhwm(0), // libzmq aborts if a connection breaks whose reader is at a limit
		s.SetRcvtimeo(slice),
		s.Monitor(name, zmq.EVENT_HANDSHAKE_SUCCEEDED|zmq.EVENT_HANDSHAKE_FAILED_AUTH|
			zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL|zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL),
		d.events.Connect(name),
		key.set(s),
		s.Connect(address),
	} {
		if err != nil {
			d.close(false)
			return nil, err
		}
	}
	return d, nil
}

// send queues the frames as one ZeroMQ message. If it may not wait, they are dropped if libzmq has given the connection
// up, of which the handshakes will tell; else the error is errUnread if the queue stays full.
func (d *dealer) send(frames [][]byte, wait bool) error {
	last := len(frames) - 1
	for i, frame := range frames {
		flags := zmq.Flag(0)
		if !wait {
			flags = zmq.DONTWAIT
		}
		if i < last {
			flags |= zmq.SNDMORE
		}
		if _, err := d.socket.SendBytes(frame, flags); err != nil {
			if err = unlessBusy(err); err == nil && wait {
				err = errUnread
			}
			return err
		}
	}
	return nil
}

// receive returns the frames that are there, of several ZeroMQ messages if there are; if it may wait, it does so for
// a slice at the most.
func (d *dealer) receive(wait bool) (frames [][]byte, err error) {
	flags := zmq.DONTWAIT
	if wait {
		flags = 0
	}
	for size := 0; len(frames) < batch && size < batchBytes; {
		more, err := d.socket.RecvMessageBytes(flags)
		if err != nil {
			return frames, unlessBusy(err)
		}
		for _, frame := range more {
			size += len(frame)
		}
		frames = append(frames, more...)
		flags = zmq.DONTWAIT
	}
	return frames, nil
}

// handshake returns how one ended; none has if ok is false.
func (d *dealer) handshake() (event zmq.Event, value int, ok bool) {
	event, _, value, err := d.events.RecvEvent(zmq.DONTWAIT)
	return event, value, err == nil
}

func unlessBusy(err error) error {
	if zmq.AsErrno(err) == zmq.Errno(syscall.EAGAIN) {
		return nil
	}
	return err
}

// close leaves; what was sent may still go out for a moment if linger is true.
func (d *dealer) close(linger bool) {
	wait := time.Duration(0)
	if linger {
		wait = 500 * time.Millisecond
	}
	_ = d.socket.Monitor("", 0) // its thread would wait for a reader
	if d.events != nil {
		_ = d.events.Close()
	}
	_ = d.socket.SetLinger(wait)
	_ = d.socket.Close()
	_ = d.context.Term()
}
