package dovetail

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// DefaultAddress is where a broker is, unless told otherwise.
const DefaultAddress = "tcp://127.0.0.1:5757"

// Software is what a peer says of its program, unless told otherwise.
const Software = "dovetail-go 0.1"

// Config says where the broker is and who the peer is. The zero value goes to DefaultAddress without a token.
type Config struct {
	Address  string
	Token    string        // the broker's access token; empty if it has none
	Name     string        // unique among the peers present; empty lets the broker choose
	Wait     time.Duration // for the broker's first answer; 0 is ten seconds, below 0 is for ever
	Software string

	// Ready, if it is there, is called once the broker has welcomed the peer, instead of the line that a program
	// under Main prints.
	Ready func(*Welcome)
}

// FromEnv returns the Config that DOVETAIL_BROKER and DOVETAIL_TOKEN tell.
func FromEnv() Config {
	return Config{Address: os.Getenv("DOVETAIL_BROKER"), Token: os.Getenv("DOVETAIL_TOKEN")}
}

func (c Config) hello(role Role, offers []Offer) Hello {
	hello := Hello{Version: Version, Role: role, Name: c.Name, Offers: offers, Software: c.Software}
	if c.Token != "" {
		hello.Token = &c.Token
	}
	if hello.Software == "" {
		hello.Software = Software
	}
	return hello
}

// socket is what a link needs of ZeroMQ: a DEALER that connects by itself, again and again.
type socket interface {
	// send queues the frames as one ZeroMQ message.
	send(frames [][]byte) error
	// receive returns the frames that wait, of several ZeroMQ messages if there are, and waits for the first up to
	// a time; none if that is over.
	receive(wait time.Duration) ([][]byte, error)
	// close leaves; what was sent may still go out for a moment if linger is true.
	close(linger bool)
}

const (
	batch = 4096                   // frames that are read together at the most, so that answers go out in between
	slice = 100 * time.Millisecond // how long a link waits before it looks whether it is to stop
)

// link is a connection to a broker that makes itself anew when it breaks. One goroutine works with it; a second,
// its own, reads and answers pings while the first is busy.
type link struct {
	address string
	session *Session

	mu     sync.Mutex // holds whoever uses what follows
	socket socket
	queue  []Message // read, and not taken yet
	err    error
	done   chan struct{}
}

// dial connects and waits for the broker's welcome.
func dial(ctx context.Context, config Config, hello Hello) (*link, error) {
	l := &link{address: config.Address, session: NewSession(hello), done: make(chan struct{})}
	if l.address == "" {
		l.address = DefaultAddress
	}
	wait := config.Wait
	if wait == 0 {
		wait = 10 * time.Second
	}
	if err := l.connect(); err != nil {
		return nil, err
	}
	began := time.Now()
	for l.session.Welcome == nil {
		if err := l.read(slice); err != nil {
			l.socket.close(false)
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			if l.session.Welcome == nil { // the hello may arrive all the same
				_ = l.socket.send([][]byte{mustEncode(&Bye{})})
				l.socket.close(true)
				return nil, err
			}
			break
		}
		if wait > 0 && time.Since(began) > wait {
			l.socket.close(false)
			return nil, fmt.Errorf("no broker answers at %s; start one with `dovetail broker`", l.address)
		}
	}
	go l.tend()
	return l, nil
}

func (l *link) connect() error {
	if l.socket != nil {
		l.socket.close(false)
		l.socket = nil
	}
	s, err := newSocket(l.address)
	if err != nil {
		return fmt.Errorf("%q is no address of a broker (%v); write it like %s", l.address, err, DefaultAddress)
	}
	l.socket = s
	hello, err := l.session.Greet(time.Now())
	if err != nil {
		return err
	}
	return s.send([][]byte{hello})
}

// read takes in what waits; the caller holds mu.
func (l *link) read(wait time.Duration) error {
	if l.err != nil {
		return l.err
	}
	l.err = l.tryRead(wait)
	return l.err
}

func (l *link) tryRead(wait time.Duration) error {
	frames, err := l.socket.receive(wait)
	if err != nil {
		return err
	}
	now := time.Now()
	if len(frames) == 0 {
		if l.session.Silent(now) {
			return l.connect()
		}
		return nil
	}
	messages, answers, err := l.session.Receive(frames, now)
	l.queue = append(l.queue, messages...)
	if len(answers) > 0 {
		if err := l.socket.send(answers); err != nil {
			return err
		}
	}
	return err
}

// tend answers pings while the program is busy elsewhere.
func (l *link) tend() {
	ticker := time.NewTicker(slice)
	defer ticker.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-ticker.C:
		}
		if l.mu.TryLock() {
			if l.socket != nil && !l.session.Departed {
				_ = l.read(0) // an error is kept for the program
			}
			l.mu.Unlock()
		}
	}
}

// receive returns the messages that came, and waits for the first up to a time; none if that is over.
func (l *link) receive(wait time.Duration) ([]Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 && !l.session.Departed {
		if err := l.read(wait); err != nil && len(l.queue) == 0 {
			return nil, err
		}
	}
	messages := l.queue
	l.queue = nil
	return messages, nil
}

// welcome returns the broker's latest.
func (l *link) welcome() *Welcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.Welcome
}

func (l *link) departed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.Departed
}

// send sends frames together.
func (l *link) send(frames [][]byte) error {
	if len(frames) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	return l.socket.send(frames)
}

// close leaves, with a bye if the broker has not gone before.
func (l *link) close() {
	close(l.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket == nil {
		return
	}
	goodbye := !l.session.Departed && l.err == nil
	if goodbye {
		_ = l.socket.send([][]byte{mustEncode(&Bye{})})
	}
	l.socket.close(goodbye)
	l.socket = nil
}
