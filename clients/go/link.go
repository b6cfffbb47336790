package dovetail

import (
	"cmp"
	"context"
	"errors"
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

const (
	batch  = 4096                   // frames that are read together at the most, so that answers go out in between
	moment = time.Millisecond       // how long an answer waits for the next one: clocks run
	slice  = 100 * time.Millisecond // how long a link waits before it looks whether it is to stop
)

// link is a connection to a broker that makes itself anew when it breaks. One goroutine works with it; a second,
// its own, reads and answers pings while the first is busy.
type link struct {
	address string
	stop    context.CancelFunc

	mu      sync.Mutex // holds whoever uses what follows
	session *Session
	socket  *dealer
	queue   []Message // read, and not taken yet
	answers [][]byte  // that wait for others to go out with
	waiting time.Time // since when they do
	err     error     // for good
}

var errClosed = errors.New("the connection to the broker was closed")

// dial connects and waits for the broker's welcome.
func dial(ctx context.Context, config Config, hello Hello) (*link, error) {
	stopped, stop := context.WithCancel(context.Background())
	l := &link{address: cmp.Or(config.Address, DefaultAddress), session: NewSession(hello), stop: stop}
	err := l.connect()
	if err == nil {
		err = l.greeted(ctx, cmp.Or(config.Wait, 10*time.Second))
	}
	if err != nil {
		l.close() // with a bye: the hello may arrive all the same
		return nil, err
	}
	go l.tend(stopped)
	return l, nil
}

// greeted waits for the broker's welcome.
func (l *link) greeted(ctx context.Context, wait time.Duration) error {
	began := time.Now()
	for l.session.Welcome == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		if wait > 0 && time.Since(began) > wait {
			return fmt.Errorf("no broker answers at %s; start one with `dovetail broker`", l.address)
		}
		if err := l.read(true); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) connect() error {
	if l.socket != nil {
		l.socket.close(false)
		l.socket = nil
	}
	s, err := newDealer(l.address)
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
func (l *link) read(wait bool) error {
	if l.err == nil {
		l.err = l.tryRead(wait)
	}
	return l.err
}

func (l *link) tryRead(wait bool) error {
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

// tend answers pings, and lets answers go that wait for others, while the program is busy elsewhere.
func (l *link) tend(stopped context.Context) {
	ticker := time.NewTicker(slice)
	defer ticker.Stop()
	for {
		select {
		case <-stopped.Done():
			return
		case <-ticker.C:
		}
		if l.mu.TryLock() {
			if !l.session.Departed {
				_ = l.read(false) // an error is kept for the program
				_ = l.flush()
			}
			l.mu.Unlock()
		}
	}
}

// receive returns the messages that came, and waits a slice for the first; none if that is over.
func (l *link) receive() ([]Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 && !l.session.Departed {
		if err := l.read(true); err != nil && len(l.queue) == 0 {
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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, frames...)
	return l.flush()
}

// answer sends frames together with those that follow within a moment, unless they are the last for now.
func (l *link) answer(frames [][]byte, last bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.answers) == 0 {
		l.waiting = time.Now()
	}
	l.answers = append(l.answers, fit(frames, l.session.Welcome.Limits.Frame)...)
	if last || time.Since(l.waiting) > moment {
		return l.flush()
	}
	return nil
}

// flush sends what waits; the caller holds mu.
func (l *link) flush() error {
	if l.err == nil && len(l.answers) > 0 {
		l.err = l.socket.send(l.answers)
		l.answers = nil
	}
	return l.err
}

// close leaves, with a bye if the broker has not gone before. Whoever uses the link afterwards is told.
func (l *link) close() {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket == nil {
		return
	}
	goodbye := !l.session.Departed && l.err == nil
	if goodbye {
		l.answers = append(l.answers, mustEncode(&Bye{}))
		_ = l.flush()
	}
	l.socket.close(goodbye)
	l.socket, l.err = nil, cmp.Or(l.err, errClosed)
}
