package dovetail

// Request is a message of an experiment that is answered; Fields are the message's own fields by the names of
// SPEC.md section 6, without type and id.
type Request struct {
	Type   string
	ID     int64
	Fields map[string]any
}

func (m *Request) kind() string { return m.Type }
func (m *Request) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	for key, value := range m.Fields {
		w.key(key)
		w.appendValue(value)
	}
}

// WatchedTurn is a turn as a watcher may see it.
type WatchedTurn struct {
	Run          int64
	Match        int64
	Index        int64
	Episode      int64
	Turn         int
	ToAct        []int
	Actions      []SeatValue // the actions that led here
	Rewards      []float64   // per seat, of this transition
	Observations []SeatValue // in games of perfect information
	Agents       []string
	Terminated   bool
	Truncated    bool
	Outcome      []float64
	Reason       Reason // empty while the episode goes on
	Text         *string
}

func (*WatchedTurn) kind() string { return "turn" }
func (m *WatchedTurn) wire(w *wire) {
	need(w, "run", &m.Run, integer)
	need(w, "match", &m.Match, integer)
	need(w, "index", &m.Index, integer)
	need(w, "episode", &m.Episode, integer)
	need(w, "turn", &m.Turn, integer)
	array(w, "to_act", &m.ToAct, integer)
	array(w, "actions", &m.Actions, pair)
	array(w, "rewards", &m.Rewards, number)
	array(w, "observations", &m.Observations, pair)
	array(w, "agents", &m.Agents, text)
	opt(w, "terminated", &m.Terminated, false, boolean)
	opt(w, "truncated", &m.Truncated, false, boolean)
	orNone(w, "outcome", &m.Outcome, arrayOf(number))
	if b := w.find("reason"); b == nil || b[0] != 0xc0 {
		opt(w, "reason", &m.Reason, "", oneOf(reasons...))
	}
	orNil(w, "text", &m.Text, text)
}

// Episode is the result of one episode.
type Episode struct {
	Run     int64
	Index   int64 // the number of the episode in its run
	Episode int64
	Seed    int64
	Reason  Reason
	Seats   []SeatResult
	Outcome []float64 // nil if nobody is scored
	Blame   *int
	Turns   int64
	Scored  bool // false if the episode was interrupted
	Again   bool // whether it is played again under the same index
	Message string
}

func (*Episode) kind() string { return "episode" }
func (m *Episode) wire(w *wire) {
	need(w, "run", &m.Run, integer)
	need(w, "index", &m.Index, integer)
	need(w, "episode", &m.Episode, integer)
	need(w, "seed", &m.Seed, integer)
	need(w, "reason", &m.Reason, oneOf(reasons...))
	need(w, "seats", &m.Seats, arrayOf(mapOf[SeatResult]))
	orNone(w, "outcome", &m.Outcome, arrayOf(number))
	orNil(w, "blame", &m.Blame, integer)
	opt(w, "turns", &m.Turns, 0, integer)
	opt(w, "scored", &m.Scored, true, boolean)
	opt(w, "again", &m.Again, false, boolean)
	opt(w, "message", &m.Message, "", text)
}

// SeatResult is what one seat got out of an episode.
type SeatResult struct {
	Agent     string
	Instance  int64
	Total     float64 // its return
	Decisions int64
	Seconds   float64
	Breaches  int64
	Ignored   int64
}

func (m *SeatResult) wire(w *wire) {
	need(w, "agent", &m.Agent, text)
	need(w, "instance", &m.Instance, integer)
	opt(w, "total", &m.Total, 0, number)
	opt(w, "decisions", &m.Decisions, 0, integer)
	opt(w, "seconds", &m.Seconds, 0, number)
	opt(w, "breaches", &m.Breaches, 0, integer)
	opt(w, "ignored", &m.Ignored, 0, integer)
}

// Progress says how far a run is.
type Progress struct{ Run, Finished, Running, Total int64 }

func (*Progress) kind() string { return "progress" }
func (m *Progress) wire(w *wire) {
	need(w, "run", &m.Run, integer)
	need(w, "finished", &m.Finished, integer)
	need(w, "running", &m.Running, integer)
	need(w, "total", &m.Total, integer)
}

// Done says that a run is over, and why: finished, drained, cancelled or failed.
type Done struct {
	Run      int64
	Finished int64
	Reason   string
	Message  string
}

func (*Done) kind() string { return "done" }
func (m *Done) wire(w *wire) {
	need(w, "run", &m.Run, integer)
	need(w, "finished", &m.Finished, integer)
	opt(w, "reason", &m.Reason, "finished", oneOf("finished", "drained", "cancelled", "failed"))
	opt(w, "message", &m.Message, "", text)
}
