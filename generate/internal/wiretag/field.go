package wiretag

import "fmt"

// Slack is how many bytes of p are free behind i where a tag and a value are written there, beside the bytes of a text: a write of eight
// bytes may reach beyond what it is for, and the compiler sees that all are within.
const Slack = 16

// room is the condition that Slack bytes are free.
const room = "i >= 0 && i <= len(p)-16"

// orElse ends an if statement.
func orElse(miss string) string { return "} else {\n" + miss + "\n}" }

// PutText returns the statement that puts the text x, unless it is empty, at p[i], behind the tag; where it is long, or there is no room for
// it, the statement goes on with miss.
func (t Tag) PutText(x, miss string) string {
	return fmt.Sprintf(`if n := len(%[1]s); n > 0 {
		if n < 128 && i >= 0 && i+n <= len(p)-%[2]d {
			%[3]s
			copy(p[i+%[4]d:], %[1]s)
			i += n+%[4]d
		%[5]s
	}`, x, Slack, append(t[:len(t):len(t)], 0).Store("p[i:]", "n"), len(t)+1, orElse(miss))
}

// PutBool is PutText for a bool.
func (t Tag) PutBool(x, miss string) string {
	return fmt.Sprintf("if %s {\nif %s {\n%s\ni += %d\n%s\n}", x, room, append(t[:len(t):len(t)], 1).Store("p[i:]"), len(t)+1, orElse(miss))
}

// PutFixed is PutText for a number with so many bits.
func (t Tag) PutFixed(x string, bits int, miss string) string {
	return fmt.Sprintf("if v := %s; v != 0 {\nif %s {\n%s\nbinary.LittleEndian.PutUint%[4]d(p[i+%[5]d:], uint%[4]d(v))\ni += %[6]d\n%[7]s\n}",
		x, room, t.Store("p[i:]"), bits, len(t), len(t)+bits/8, orElse(miss))
}

// PutInt is PutText for a varint. A call puts a long one if it is wide, of 64 bits, of which long ones are usual.
func (t Tag) PutInt(x string, wide bool, miss string) string {
	end, long := orElse(miss), "if v >= 1<<21 {\n"+miss+"\n}\nx, n = x|v<<2&0x7f0000|0x8000, "+fmt.Sprint(len(t)+3)
	if wide {
		return fmt.Sprintf(`if v := %[1]s; v != 0 {
			if %[2]s {
				if v < 1<<28 {
					x, n := generated.Short4(uint32(v))
					binary.LittleEndian.PutUint64(p[i:], %[3]s|x<<%[4]d)
					i += %[5]d+n
				} else {
					i = generated.PutVarint(p, i, %[3]s, %[5]d, v)
				}
			%[6]s
		}`, x, room, t.Word(), 8*len(t), len(t), end)
	}
	return fmt.Sprintf(`if v := %[1]s; v != 0 {
		if %[2]s {
			x, n := v&0x7f, %[4]d
			if v >= 1<<7 {
				x, n = x|v<<1&0x7f00|0x80, %[5]d
				if v >= 1<<14 {
					%[6]s
				}
			}
			binary.LittleEndian.PutUint64(p[i:], %[3]s|x<<%[7]d)
			i += n
		%[8]s
	}`, x, room, t.Word(), len(t)+1, len(t)+2, long, 8*len(t), end)
}

// word is the condition that eight bytes can be read at s[i].
const word = "if i >= 0 && i <= len(s)-8 {\n"

// ReadText returns the statement that sets the text x to text, in which v stands for it, if the tag is at s[i] and n bytes of a text behind it, or empties it; a longer
// one, or the end of s, goes on with miss.
func (t Tag) ReadText(x, text, miss string) string {
	return word + fmt.Sprintf(`if x := generated.Load(s, i); %[1]s {
		if n := int(uint8(x >> %[2]d)); n < 128 && i+%[3]d+n <= len(s) {
			v := s[i+%[3]d : i+%[3]d+n]
			if own {
				v = r.Own(i+%[3]d, v)
			}
			%[4]s, i = %[5]s, i+%[3]d+n
		%[6]s
	} else {
		%[4]s = ""
	}
	`, t.In("x"), 8*len(t), len(t)+1, x, text, orElse(miss)) + orElse(miss)
}

// ReadBool is ReadText for a bool.
func (t Tag) ReadBool(x, miss string) string {
	return word + fmt.Sprintf(`%[1]s = false
	if x := generated.Load(s, i); %[2]s {
		if uint8(x>>%[3]d) == 1 {
			%[1]s, i = true, i+%[4]d
		%[5]s
	}
	`, x, t.In("x"), 8*len(t), len(t)+1, orElse(miss)) + orElse(miss)
}

// ReadInt is ReadText for an integer of a type of at least 32 bits. A call reads a long one if it is wide, of 64 bits, of which long ones are usual.
func (t Tag) ReadInt(x, typ string, wide bool, miss string) string {
	if wide {
		return word + fmt.Sprintf(`if x := generated.Load(s, i); !(%[2]s) {
			%[1]s = 0
		} else if v, n := generated.Short28(uint32(x >> %[3]d)); n > 0 {
			%[1]s, i = %[5]s(v), i+%[4]d+n
		} else {
			i = generated.IntField(s, i, %[6]s, %[4]d, &%[1]s)
		}
		`, x, t.In("x"), 8*len(t), len(t), typ, t.Word()) + orElse(miss)
	}
	return word + fmt.Sprintf(`%[1]s = 0
	if x := generated.Load(s, i); %[2]s {
		v, n := x>>%[3]d&0x7f, %[4]d
		if x>>%[3]d&0x80 != 0 {
			v, n = v|x>>%[5]d&0x3f80, %[6]d
			if x>>%[3]d&0x8000 != 0 {
				if x>>%[3]d&0x800000 != 0 {
					%[10]s
				}
				v, n = v|x>>%[7]d&0x1fc000, %[8]d
			}
		}
		%[1]s, i = %[9]s(v), i+n
	}
	`, x, t.In("x"), 8*len(t), len(t)+1, 8*len(t)+1, len(t)+2, 8*len(t)+2, len(t)+3, typ, miss) + orElse(miss)
}
