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

// DefaultAddress is the default address of a broker.
const DefaultAddress = "tcp://127.0.0.1:5757"

// Software is the default description of a peer's program.
const Software = "dovetail-go 0.1"

// Config says where the broker is and who the peer is. The zero value goes to DefaultAddress without a token.
type Config struct {
	Address  string
	Token    string        // the broker's access token; empty if it has none
	Key      string        // the file with the program's key, if the broker lets in only keys; see docs/keys.md
	Name     string        // unique among the peers present; empty lets the broker choose
	Wait     time.Duration // for the broker's first answer; 0 is ten seconds, below 0 is forever
	Software string

	// GiveUp is how long the broker may be silent before whatever waits for it fails; below 0 is forever, and 0 is a
	// minute for an experiment and forever for what is served.
	GiveUp time.Duration
	// Warn takes a line for a person, once when the broker falls silent and once when it is back; nil is standard
	// error.
	Warn func(line string)

	// Ready, if it is there, is called once the broker has welcomed the peer, instead of the line that a program
	// under Main prints.
	Ready func(*Welcome)
}

// FromEnv returns the Config that DOVETAIL_BROKER, DOVETAIL_TOKEN and DOVETAIL_KEY tell.
func FromEnv() Config {
	return Config{Address: os.Getenv("DOVETAIL_BROKER"), Token: os.Getenv("DOVETAIL_TOKEN"), Key: os.Getenv("DOVETAIL_KEY")}
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
	batch      = 4096                   // frames that are read together at the most, so that answers go out in between
	batchBytes = 1 << 24                // and their bytes
	moment     = time.Millisecond       // how long an answer waits for the next one: clocks run
	slice      = 100 * time.Millisecond // how long a link waits before it looks whether it is to stop
)

// link is a connection to a broker that reconnects when it breaks. One goroutine works with it; a second,
// its own, reads and answers pings while the first is busy.
type link struct {
	address string
	stop    context.CancelFunc

	mu      sync.Mutex // guards what follows
	session *Session
	socket  *dealer
	queue   []Message // read, and not taken yet
	answers [][]byte  // that wait for others to go out with
	waiting time.Time // since when they do
	err     error     // for good

	handshakes handshakes

	warn    func(string)
	limit   time.Duration // of silence, if above 0; until the welcome of the wait for it
	silence time.Duration // of the broker, as far as this program has listened
	warned  bool          // of this silence
	looked  time.Time     // for frames
}

var errClosed = errors.New("the connection to the broker was closed")

// dial connects and waits for the broker's welcome.
func dial(ctx context.Context, config Config, hello Hello) (*link, error) {
	stopped, stop := context.WithCancel(context.Background())
	l := &link{address: cmp.Or(config.Address, DefaultAddress), session: NewSession(hello), stop: stop,
		warn: config.Warn, limit: cmp.Or(config.Wait, 10*time.Second), looked: time.Now()}
	if l.warn == nil {
		l.warn = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	l.handshakes.address = l.address
	var err error
	if config.Key != "" {
		l.handshakes.key, err = readKey(config.Key)
	}
	if err == nil {
		err = l.connect()
	}
	for err == nil && l.session.Welcome == nil {
		if err = ctx.Err(); err == nil {
			err = l.read(true)
		}
		if err == nil && l.session.Departed {
			err = errors.New("the broker at " + l.address + " sends this program away")
		}
	}
	if err != nil {
		l.close() // with a bye: the hello may arrive all the same
		return nil, err
	}
	l.limit = config.GiveUp
	go l.tend(stopped)
	return l, nil
}

func (l *link) connect() error {
	if l.socket != nil {
		l.socket.close(false)
		l.socket = nil
	}
	s, err := newDealer(l.address, l.handshakes.key)
	if err != nil {
		return fmt.Errorf("%q is not the address of a broker (%v); write it like %s", l.address, err, DefaultAddress)
	}
	l.socket = s
	return l.greet()
}

func (l *link) greet() error {
	hello, err := l.session.Greet(time.Now())
	if err != nil {
		return err
	}
	return l.transmit([][]byte{hello})
}

// transmit sends frames; a broker that reads nothing is lost (S3.8).
func (l *link) transmit(frames [][]byte) error {
	err := l.socket.send(frames, l.session.Welcome != nil)
	if errors.Is(err, errUnread) {
		return l.connect()
	}
	return err
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
		return l.nothing(now)
	}
	messages, answers, err := l.session.Receive(frames, now)
	l.queue = append(l.queue, messages...)
	if l.looked = now; l.session.Welcome != nil {
		if l.warned {
			l.warn(fmt.Sprintf("the broker at %s is back after %.0f s of silence", l.address, l.silence.Seconds()))
		}
		l.silence, l.warned = 0, false
	}
	if len(answers) > 0 {
		if err := l.transmit(answers); err != nil {
			return err
		}
	}
	return err
}

// nothing looks after the connection while nothing comes.
func (l *link) nothing(now time.Time) error {
	for event, value, ok := l.socket.handshake(); ok; event, value, ok = l.socket.handshake() {
		if refused := l.handshakes.judge(event, value); refused != "" {
			return fmt.Errorf("the broker at %s %s", l.address, refused)
		}
	}
	// A stopped program did not listen, so one look counts a second at the most.
	l.silence += min(now.Sub(l.looked), time.Second)
	l.looked = now
	absent := l.session.Welcome == nil
	what, remedy := fmt.Sprintf("the broker at %s has been silent for %.0f s", l.address, l.silence.Seconds()), "see whether it still runs"
	if absent {
		what, remedy = "no broker answers at "+l.address, "start one with `dovetail broker`"
	}
	if l.limit > 0 && l.silence > l.limit {
		return fmt.Errorf("%s; %s", what, remedy)
	}
	if !l.warned && l.silence > l.session.patience() {
		l.warned = true
		limit := ""
		if l.limit > 0 {
			limit = fmt.Sprintf(" up to %v", l.limit)
		}
		l.warn(fmt.Sprintf("%s; waiting%s for it", what, limit))
	}
	switch {
	case !l.session.Silent(now):
		return nil
	case absent:
		return l.greet() // the hello or its welcome may have been lost
	}
	return l.connect()
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
	l.answers = append(l.answers, frames...)
	if last || time.Since(l.waiting) > moment {
		return l.flush()
	}
	return nil
}

// flush sends what waits; the caller holds mu.
func (l *link) flush() error {
	if l.err == nil && len(l.answers) > 0 {
		l.err = l.transmit(l.answers)
		l.answers = nil
	}
	return l.err
}

// close leaves, with a bye if the broker has not gone before. Later uses of the link fail.
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
