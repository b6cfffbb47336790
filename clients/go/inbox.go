package dovetail

import (
	"errors"
	"fmt"
)

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
