package dovetail

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Session is a peer's end of a session without the socket: frames and the time go in, messages for the role and
// frames to send come out.
type Session struct {
	// Welcome is the broker's last; nil before the first.
	Welcome *Welcome
	// Departed says whether the broker said bye.
	Departed bool

	hello   Hello // with the highest number of a frame that has arrived
	decoder *Decoder
	heard   time.Time
	answer  time.Duration // to wait for the answer to hello; 0 if none is under way
}

// For how long a hello may be without an answer at first, and at most; each time it is twice as long.
const (
	firstAnswer = 4 * time.Second
	lastAnswer  = 16 * time.Second
)

// NewSession returns the session of a peer; nothing has been said yet.
func NewSession(hello Hello) *Session {
	return &Session{hello: hello, decoder: NewDecoder(hello.Role)}
}

// Greet returns the frame of a hello that resumes an earlier session, if any.
func (s *Session) Greet(now time.Time) ([]byte, error) {
	s.heard = now
	s.answer = min(max(2*s.answer, firstAnswer), lastAnswer)
	s.hello.Resume = nil
	if s.Welcome != nil {
		s.hello.Resume = &s.Welcome.Session
	}
	return Encode(&s.hello)
}

// Receive takes frames of the broker. It returns the messages for the role, in order, and frames to send at once.
// The error is a *RefusedError if the broker refuses this peer for good.
func (s *Session) Receive(frames [][]byte, now time.Time) (messages []Message, answers [][]byte, err error) {
	s.heard = now
	for _, frame := range frames {
		message, wrong := s.decoder.Decode(frame)
		if wrong != nil {
			answers = append(answers, mustEncode(s.decoder.Refusal(wrong)))
			continue
		}
		s.hello.Seen = max(s.hello.Seen, seqOf(message))
		switch m := message.(type) {
		case *Ping:
			answers = append(answers, mustEncode(&Pong{Number: m.Number, Seen: s.hello.Seen}))
		case *Pong:
			continue
		case *Bye:
			s.Departed = true
			continue
		case *Welcome:
			again := s.Welcome != nil && s.Welcome.Session == m.Session && !m.Resumed
			if s.answer, s.Departed = 0, false; again {
				continue // the answer to a hello that was said twice
			}
			if s.Welcome, s.decoder.Limits = m, m.Limits; !m.Resumed {
				s.hello.Seen = 0
			}
		case *Error:
			if s.answer > 0 && s.refuses(m) || expels(m) {
				s.answer = 0
				return messages, answers, &RefusedError{m.Code, "the broker refuses: " + m.Message}
			}
			if m.Code == CodeHelloFirst {
				if s.answer == 0 {
					hello, _ := s.Greet(now) // it could travel before
					answers = append(answers, hello)
				}
				continue
			}
		}
		messages = append(messages, message)
	}
	return messages, answers, nil
}

// refuses says whether an error in answer to hello is one that saying it again does not mend.
func (s *Session) refuses(m *Error) bool {
	switch m.Code {
	case CodeVersion, CodeAccess, CodeNameTaken:
		return true
	case CodeInvalid, CodeMalformed, CodeLimit:
		return s.Welcome == nil
	}
	return false
}

// expels says whether an error is that this peer may not stay, because its key was revoked, for instance.
func expels(m *Error) bool { return m.Code == CodeAccess && m.ID == nil && m.Answers == nil }

// Silent says whether the broker has been silent for so long that the peer must say hello again.
func (s *Session) Silent(now time.Time) bool { return now.Sub(s.heard) > max(s.patience(), s.answer) }

// patience is the silence that means nothing yet.
func (s *Session) patience() time.Duration {
	if s.Welcome == nil {
		return 2 * time.Second
	}
	beats := 4 * s.Welcome.Heartbeat * float64(time.Second)
	if beats == 0 || beats >= math.MaxInt64 { // the broker sends no pings, or as good as none
		return math.MaxInt64
	}
	return max(2*time.Second, time.Duration(beats))
}

// numbered is a message that must arrive: the broker sends it again after a reconnection that may have lost it.
type numbered interface{ seq() int64 }

func seqOf(m Message) int64 {
	if n, ok := m.(numbered); ok {
		return n.seq()
	}
	return 0
}

// inbox knows what has arrived in this session and how it was answered. Numbers rise, so a frame that is not above
// the highest came before: it is answered as it was, or not at all. Both hosts answer through one; an experiment
// only asks it what is new.
type inbox struct {
	seen    int64            // the highest number that has arrived
	answers map[int64][]byte // by the number of what they answer, until the broker has settled it
	kept    int              // their bytes
	keeping bool             // whether anything is ever sent again
	limit   int              // bytes that the broker reads in one frame
	out     [][]byte
}

// The bytes of answers that are kept at the most, and what counts for each beside its own (S11.4).
const mostKept, eachKept = 1 << 28, 64

func newInbox() inbox {
	return inbox{answers: map[int64][]byte{}, keeping: true, limit: DefaultLimits.Frame}
}

// take says whether a message is new; a repeat gets its answer again.
func (b *inbox) take(message Message) bool {
	switch m := message.(type) {
	case *Welcome:
		b.keeping, b.limit = m.Heartbeat > 0, m.Limits.Frame
		if !m.Resumed {
			b.seen, b.kept = 0, 0
			clear(b.answers)
		}
	case *Ping:
		for seq := range b.answers {
			if seq <= m.Settled {
				b.drop(seq)
			}
		}
	}
	seq := seqOf(message)
	if seq > b.seen {
		b.seen = seq
		return true
	}
	if frame, ok := b.answers[seq]; ok {
		b.out = append(b.out, frame)
	}
	return seq == 0
}

// answer sends the answer to a frame, and keeps it; to 0, that is to none, it just sends. It fails if the answer
// cannot travel.
func (b *inbox) answer(seq int64, m Message) error {
	frame, err := Encode(m)
	if err == nil && len(frame) > b.limit { // to the broker's socket it would be a reason to hang up
		err = fmt.Errorf("it has %d bytes, and the broker reads at most %d", len(frame), b.limit)
	}
	if err != nil {
		return fmt.Errorf("the %s cannot travel: %w", m.kind(), err)
	}
	b.out = append(b.out, frame)
	if b.drop(seq); b.keeping && seq > 0 && b.kept+len(frame)+eachKept <= mostKept {
		b.kept += len(frame) + eachKept
		b.answers[seq] = frame
	}
	return nil
}

// drop forgets an answer.
func (b *inbox) drop(seq int64) {
	if frame, ok := b.answers[seq]; ok {
		b.kept -= len(frame) + eachKept
		delete(b.answers, seq)
	}
}

// refuse answers a frame with an error, which names the request if the frame is one; where is whose code failed, and
// at what.
func (b *inbox) refuse(seq int64, id *int64, where string, err error) {
	refused := &Error{ID: id}
	if id == nil {
		refused.Answers = &seq
	}
	var said *RefusedError
	var illegal *IllegalActionError
	switch {
	case errors.As(err, &said):
		refused.Code, refused.Message = said.Code, oneLine(err)
	case errors.As(err, &illegal):
		refused.Code, refused.Message, refused.Seat = CodeIllegal, oneLine(err), &illegal.Seat
	default:
		refused.Code, refused.Message = CodeCrashed, failure(where, err)
	}
	_ = b.answer(seq, refused) // one line can travel
}

// reply answers a request with what code of the user makes of it.
func (b *inbox) reply(seq, id int64, where string, do func() (Message, error)) {
	answer, err := protect(do)
	if err == nil {
		err = b.answer(seq, answer)
	}
	if err != nil {
		b.refuse(seq, &id, where, err)
	}
}

// flush returns what is to go out.
func (b *inbox) flush() [][]byte {
	out := b.out
	b.out = nil
	return out
}
