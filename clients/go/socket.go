package dovetail

import (
	"syscall"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// dealer is a DEALER socket of libzmq, which connects again by itself and keeps what is sent meanwhile.
type dealer struct {
	context *zmq.Context
	socket  *zmq.Socket
	wait    time.Duration // that the socket is set to
}

func newSocket(address string) (socket, error) {
	context, err := zmq.NewContext()
	if err != nil {
		return nil, err
	}
	s, err := context.NewSocket(zmq.DEALER)
	if err != nil {
		return nil, err
	}
	d := &dealer{context, s, 0}
	for _, err := range []error{
		s.SetReconnectIvl(100 * time.Millisecond),
		s.SetReconnectIvlMax(time.Second),
		s.SetHeartbeatIvl(5 * time.Second),
		s.SetSndhwm(0),
		s.SetRcvhwm(0),
		s.SetRcvtimeo(0),
		s.Connect(address),
	} {
		if err != nil {
			d.close(false)
			return nil, err
		}
	}
	return d, nil
}

func (d *dealer) send(frames [][]byte) error {
	last := len(frames) - 1
	for i, frame := range frames {
		flags := zmq.DONTWAIT
		if i < last {
			flags |= zmq.SNDMORE
		}
		if _, err := d.socket.SendBytes(frame, flags); err != nil {
			return err
		}
	}
	return nil
}

func (d *dealer) receive(wait time.Duration) ([][]byte, error) {
	frames, err := d.socket.RecvMessageBytes(zmq.DONTWAIT)
	if isAgain(err) && wait > 0 {
		if wait != d.wait {
			if err := d.socket.SetRcvtimeo(wait); err != nil {
				return nil, err
			}
			d.wait = wait
		}
		frames, err = d.socket.RecvMessageBytes(0)
	}
	for err == nil && len(frames) < batch {
		var more [][]byte
		if more, err = d.socket.RecvMessageBytes(zmq.DONTWAIT); err == nil {
			frames = append(frames, more...)
		}
	}
	if isAgain(err) {
		err = nil
	}
	return frames, err
}

func isAgain(err error) bool {
	return err != nil && zmq.AsErrno(err) == zmq.Errno(syscall.EAGAIN)
}

func (d *dealer) close(linger bool) {
	wait := time.Duration(0)
	if linger {
		wait = 500 * time.Millisecond
	}
	_ = d.socket.SetLinger(wait)
	_ = d.socket.Close()
	_ = d.context.Term()
}
