package dovetail

import (
	"context"
	"net"
	"time"

	"github.com/go-zeromq/zmq4"
)

type dealer struct {
	cancel context.CancelFunc
	socket zmq4.Socket
	in     chan zmq4.Msg
	out    chan [][]byte
	sent   chan struct{}
}

func newSocket(address string) (socket, error) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &dealer{cancel: cancel, in: make(chan zmq4.Msg, 1024), out: make(chan [][]byte, 1<<16), sent: make(chan struct{})}
	d.socket = zmq4.NewDealer(ctx, zmq4.WithDialerRetry(100*time.Millisecond), zmq4.WithDialerMaxRetries(-1),
		zmq4.WithAutomaticReconnect(true), zmq4.WithTimeout(time.Second), zmq4.WithDialerTimeout(time.Second))
	_ = net.Dial
	go func() {
		defer close(d.sent)
		if err := d.socket.Dial(address); err != nil {
			return
		}
		go func() {
			for {
				m, err := d.socket.Recv()
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				select {
				case d.in <- m:
				case <-ctx.Done():
					return
				}
			}
		}()
		for frames := range d.out {
			_ = d.socket.SendMulti(zmq4.NewMsgFrom(frames...))
		}
	}()
	return d, nil
}

func (d *dealer) send(frames [][]byte) error { d.out <- frames; return nil }

func (d *dealer) receive(wait time.Duration) ([][]byte, error) {
	var frames [][]byte
	select {
	case m := <-d.in:
		frames = m.Frames
	default:
		if wait == 0 {
			return nil, nil
		}
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case m := <-d.in:
			frames = m.Frames
		case <-t.C:
			return nil, nil
		}
	}
	for len(frames) < batch {
		select {
		case m := <-d.in:
			frames = append(frames, m.Frames...)
			continue
		default:
		}
		break
	}
	return frames, nil
}

func (d *dealer) close(linger bool) {
	close(d.out)
	if linger {
		select {
		case <-d.sent:
		case <-time.After(500 * time.Millisecond):
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.cancel()
	_ = d.socket.Close()
}
