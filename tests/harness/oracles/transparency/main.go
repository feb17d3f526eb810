// Writes and verifies logs in a folder as audit_tool does (tests/harness/fixtures/audit_tool.c, which says what the files
// are), by two other implementations: github.com/transparency-dev/merkle with formats, and Go's golang.org/x/mod/sumdb. Of
// ours it knows the layout of records' leaves and of marks (daemon/audit/leaf.h), written here once more.
//
//	transparency write FOLDER ORIGIN SEED SIZE
//	transparency verify FOLDER ORIGIN
//	transparency open FILE ORIGIN VKEY LEAF
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/transparency-dev/formats/log"
	tlogproof "github.com/transparency-dev/formats/proof"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	allUpTo    = 33
	step       = 997
	tileHeight = 8
)

// ended is what ends the program; a panic of anything else shows where it was.
type ended string

func fail(format string, arguments ...any) {
	panic(ended(fmt.Sprintf(format, arguments...)))
}

func must(err error, where string) {
	if err != nil {
		fail("%s: %v", where, err)
	}
}

func get[T any](value T, err error) T {
	must(err, "-")
	return value
}

func appendText(leaf []byte, text string) []byte {
	if text == "-" {
		return binary.BigEndian.AppendUint32(leaf, 0xffffffff)
	}
	data := get(hex.DecodeString(text))
	return append(binary.BigEndian.AppendUint32(leaf, uint32(len(data))), data...)
}

func markOf(kind, from, to, reason string) []byte {
	leaf := []byte{2, byte(get(strconv.ParseUint(kind, 10, 8)))}
	for _, offset := range []string{from, to} {
		leaf = binary.BigEndian.AppendUint64(leaf, uint64(get(strconv.ParseInt(offset, 10, 64))))
	}
	return appendText(leaf, reason)
}

func leafOf(record string) []byte {
	fields := strings.Split(record, " ")
	if len(fields) == 5 && fields[0] == "mark" {
		return markOf(fields[1], fields[2], fields[3], fields[4])
	}
	if len(fields) != 3 {
		fail("-: a record is missing")
	}
	leaf := binary.BigEndian.AppendUint64([]byte{1}, uint64(get(strconv.ParseInt(fields[0], 10, 64))))
	return appendText(appendText(leaf, fields[1]), fields[2])
}

// ---- writing ----

// tree is a log twice: as the one library keeps it and as the other.
type tree struct {
	folder, origin string
	size           uint64
	signer         note.Signer
	nodes          map[compact.NodeID][]byte
	stored         []tlog.Hash
	roots          [][]byte
}

func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = t.stored[index]
	}
	return hashes, nil
}

func (t *tree) write(name string, data []byte) {
	path := filepath.Join(t.folder, name)
	must(os.MkdirAll(filepath.Dir(path), 0o777), path)
	must(os.WriteFile(path, data, 0o666), path)
}

func (t *tree) hashes(nodes proof.Nodes) [][]byte {
	found := make([][]byte, 0, len(nodes.IDs))
	for _, id := range nodes.IDs {
		found = append(found, t.nodes[id])
	}
	return get(nodes.Rehash(found, rfc6962.DefaultHasher.HashChildren))
}

func same[T ~[]tlog.Hash](ours [][]byte, others T, what string) {
	if len(ours) != len(others) {
		fail("%s: the libraries do not agree", what)
	}
	for i := range ours {
		if !bytes.Equal(ours[i], others[i][:]) {
			fail("%s: the libraries do not agree", what)
		}
	}
}

func (t *tree) writeInclusion(index, size uint64, checkpoint []byte) {
	name := fmt.Sprintf("inclusion.%d.%d", index, size)
	hashes := t.hashes(get(proof.Inclusion(index, size)))
	same(hashes, get(tlog.ProveRecord(int64(size), int64(index), t)), name)
	text := tlogproof.TLogProof{Index: index, Checkpoint: checkpoint}
	for _, hash := range hashes {
		text.Hashes = append(text.Hashes, [32]byte(hash))
	}
	t.write(name, text.Marshal())
}

func (t *tree) writeConsistency(old, size uint64, checkpoint []byte) {
	name := fmt.Sprintf("consistency.%d.%d", old, size)
	hashes := t.hashes(get(proof.Consistency(old, size)))
	if old > 0 {
		same(hashes, get(tlog.ProveTree(int64(size), int64(old), t)), name)
	}
	text := fmt.Sprintf("old %d\n", old)
	for _, hash := range hashes {
		text += base64.StdEncoding.EncodeToString(hash) + "\n"
	}
	t.write(name, append([]byte(text+"\n"), checkpoint...))
}

func (t *tree) sizes() []uint64 {
	var sizes []uint64
	for size := uint64(0); size <= min(allUpTo, t.size); size++ {
		sizes = append(sizes, size)
	}
	if t.size > allUpTo {
		sizes = append(sizes, t.size)
	}
	return sizes
}

func (t *tree) writeSize(size uint64) {
	body := log.Checkpoint{Origin: t.origin, Size: size, Hash: t.roots[size]}.Marshal()
	checkpoint := get(note.Sign(&note.Note{Text: string(body)}, t.signer))
	t.write(fmt.Sprintf("checkpoint.%d", size), checkpoint)
	by := uint64(1)
	if size > allUpTo {
		by = step
	}
	for index := uint64(0); index < size; index += by {
		t.writeInclusion(index, size, checkpoint)
	}
	for _, old := range t.sizes() {
		if old <= size {
			t.writeConsistency(old, size, checkpoint)
		}
	}
}

// tileName is tlog's path without the height, which C2SP leaves out.
func tileName(tile tlog.Tile) string {
	return strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight), "tile/", 1)
}

func writeLog(folder, origin, seedText string, size uint64) {
	seed := get(hex.DecodeString(seedText))
	private := ed25519.NewKeyFromSeed(seed)
	vkey := get(note.NewEd25519VerifierKey(origin, private.Public().(ed25519.PublicKey)))
	id := strings.Split(vkey, "+")[1]
	skey := fmt.Sprintf("PRIVATE+KEY+%s+%s+%s", origin, id, base64.StdEncoding.EncodeToString(append([]byte{1}, seed...)))
	t := &tree{folder: folder, origin: origin, size: size, signer: get(note.NewSigner(skey)), nodes: map[compact.NodeID][]byte{}}
	t.write("skey", []byte(skey))
	t.write("vkey", []byte(vkey))
	factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	whole := factory.NewEmptyRange(0)
	keep := func(id compact.NodeID, hash []byte) { t.nodes[id] = hash }
	t.roots = append(t.roots, rfc6962.DefaultHasher.EmptyRoot())
	input := bufio.NewReader(os.Stdin)
	var leaves bytes.Buffer
	for n := int64(0); n < int64(size); n++ {
		leaf := leafOf(strings.TrimSuffix(get(input.ReadString('\n')), "\n"))
		fmt.Fprintf(&leaves, "%x\n", leaf)
		must(whole.Append(rfc6962.DefaultHasher.HashLeaf(leaf), keep), "-")
		root := get(whole.GetRootHash(nil))
		t.stored = append(t.stored, get(tlog.StoredHashes(n, leaf, t))...)
		other := get(tlog.TreeHash(n+1, t))
		same([][]byte{root}, []tlog.Hash{other}, "root")
		t.roots = append(t.roots, root)
	}
	t.write("leaves", leaves.Bytes())
	for _, at := range t.sizes() {
		t.writeSize(at)
	}
	for _, tile := range tlog.NewTiles(tileHeight, 0, int64(size)) {
		t.write(tileName(tile), get(tlog.ReadTileData(tile, t)))
	}
}

// ---- verifying ----

type verification struct {
	folder, origin      string
	verifier            note.Verifier
	leaves              [][]byte
	checkpoints, proofs int
}

func (v *verification) read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(v.folder, name))
	must(err, name)
	return data
}

func (v *verification) open(name string, text []byte) *log.Checkpoint {
	checkpoint, rest, _, err := log.ParseCheckpoint(text, v.origin, v.verifier)
	must(err, name)
	if len(rest) > 0 {
		fail("%s: more than a checkpoint", name)
	}
	return checkpoint
}

func tlogHashes(hashes [][]byte) []tlog.Hash {
	var found []tlog.Hash
	for _, hash := range hashes {
		found = append(found, tlog.Hash(hash))
	}
	return found
}

func (v *verification) inclusion(name string, text, leafHash []byte) (uint64, *log.Checkpoint) {
	var read tlogproof.TLogProof
	must(read.Unmarshal(text), name)
	checkpoint := v.open(name, read.Checkpoint)
	var hashes [][]byte
	for i := range read.Hashes {
		hashes = append(hashes, read.Hashes[i][:])
	}
	must(proof.VerifyInclusion(rfc6962.DefaultHasher, read.Index, checkpoint.Size, leafHash, hashes, checkpoint.Hash), name)
	must(tlog.CheckRecord(tlogHashes(hashes), int64(checkpoint.Size), tlog.Hash(checkpoint.Hash), int64(read.Index),
		tlog.Hash(leafHash)), name)
	return read.Index, checkpoint
}

func (v *verification) consistency(name string, text, oldRoot []byte) (uint64, *log.Checkpoint) {
	head, note, found := bytes.Cut(text, []byte("\n\n"))
	if !found {
		fail("%s: no checkpoint", name)
	}
	lines := strings.Split(string(head), "\n")
	number, found := strings.CutPrefix(lines[0], "old ")
	if !found {
		fail("%s: no old size", name)
	}
	old := get(strconv.ParseUint(number, 10, 63))
	checkpoint := v.open(name, note)
	var hashes [][]byte
	for _, line := range lines[1:] {
		hash := get(base64.StdEncoding.DecodeString(line))
		if len(hash) != 32 {
			fail("%s: no hash", name)
		}
		hashes = append(hashes, hash)
	}
	must(proof.VerifyConsistency(rfc6962.DefaultHasher, old, checkpoint.Size, hashes, oldRoot, checkpoint.Hash), name)
	if old > 0 {
		must(tlog.CheckTree(tlogHashes(hashes), int64(checkpoint.Size), tlog.Hash(checkpoint.Hash), int64(old),
			tlog.Hash(oldRoot)), name)
	}
	return old, checkpoint
}

func (v *verification) Height() int {
	return tileHeight
}

func (v *verification) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, tile := range tiles {
		data = append(data, v.read(tileName(tile)))
	}
	return data, nil
}

func (v *verification) SaveTiles([]tlog.Tile, [][]byte) {}

// tiles has the tiles that were written prove records; tlog authenticates each against the root.
func (v *verification) tiles() {
	size := int64(len(v.leaves))
	root := tlog.Hash(v.open("checkpoint", v.read(fmt.Sprintf("checkpoint.%d", size))).Hash)
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, v)
	for index := int64(0); index < size; index += step {
		found, err := tlog.ProveRecord(size, index, reader)
		must(err, "tiles")
		must(tlog.CheckRecord(found, size, root, index, tlog.RecordHash(v.leaves[index])), "tiles")
	}
}

func (v *verification) file(name string) {
	parts := strings.Split(name, ".")
	var checkpoint *log.Checkpoint
	var position uint64
	switch parts[0] {
	case "checkpoint":
		checkpoint = v.open(name, v.read(name))
		position = checkpoint.Size
		v.checkpoints++
	case "inclusion":
		index := get(strconv.Atoi(parts[1]))
		position, checkpoint = v.inclusion(name, v.read(name), rfc6962.DefaultHasher.HashLeaf(v.leaves[index]))
		v.proofs++
	case "consistency":
		older := v.open(name, v.read("checkpoint."+parts[1]))
		position, checkpoint = v.consistency(name, v.read(name), older.Hash)
		v.proofs++
	default:
		return
	}
	if strconv.FormatUint(position, 10) != parts[1] || strconv.FormatUint(checkpoint.Size, 10) != parts[len(parts)-1] {
		fail("%s: it is that of something else", name)
	}
}

func verifyLog(folder, origin string) {
	v := &verification{folder: folder, origin: origin}
	v.verifier = get(note.NewVerifier(string(v.read("vkey"))))
	for _, line := range strings.Fields(string(v.read("leaves"))) {
		v.leaves = append(v.leaves, get(hex.DecodeString(line)))
	}
	for _, entry := range get(os.ReadDir(folder)) {
		v.file(entry.Name())
	}
	v.tiles()
	fmt.Printf("%d checkpoints, %d proofs\n", v.checkpoints, v.proofs)
}

func openFile(file, origin, vkey, hash string) {
	v := &verification{origin: origin, verifier: get(note.NewVerifier(vkey))}
	text := get(os.ReadFile(file))
	from := get(base64.StdEncoding.DecodeString(hash))
	if bytes.HasPrefix(text, []byte("old ")) {
		v.consistency(file, text, from)
	} else {
		v.inclusion(file, text, from)
	}
}

func main() {
	defer func() {
		if reason := recover(); reason != nil {
			message, ours := reason.(ended)
			if !ours {
				panic(reason)
			}
			fmt.Fprintln(os.Stderr, string(message))
			os.Exit(1)
		}
	}()
	switch arguments := os.Args[1:]; {
	case len(arguments) == 5 && arguments[0] == "write":
		writeLog(arguments[1], arguments[2], arguments[3], get(strconv.ParseUint(arguments[4], 10, 32)))
	case len(arguments) == 3 && arguments[0] == "verify":
		verifyLog(arguments[1], arguments[2])
	case len(arguments) == 5 && arguments[0] == "open":
		openFile(arguments[1], arguments[2], arguments[3], arguments[4])
	default:
		fmt.Fprintln(os.Stderr, "usage: transparency write FOLDER ORIGIN SEED SIZE | verify FOLDER ORIGIN | open FILE ORIGIN VKEY LEAF")
		os.Exit(2)
	}
}
