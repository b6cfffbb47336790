package dovetail

import (
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
