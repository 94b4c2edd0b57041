// The small program that starts inside a box without a network: it forwards ports of the box's own loopback to sockets of the gateway.
import { realpathSync } from 'node:fs'
import { findProgram } from '../find-program.ts'

export interface Forwarding {
  /** The folder of the sockets. */
  readonly dir: string
  /** Ports that lead out, each to the socket of this name. */
  readonly outward: Readonly<Record<number, string>>
  /** The port of a program in the box that the gateway may call, through the socket `inward`; null: none. */
  readonly inward: number | null
}

/** Where it can be seen in a box. */
const places = ['/usr/', '/nix/store/', '/gnu/store/']

/** Null: there is none that could run in a box. Then Node does the same, but takes longer to start. */
export function findPerl(path: string | undefined): string | null {
  const found = findProgram('perl', path)
  const real = found === null ? null : realpathSync(found)
  return real !== null && places.some(place => real.startsWith(place)) ? real : null
}

/**
 * The command that starts `command` with these ports open. They are open before it starts, and closed when the box ends. Whoever is in the
 * box may stop it or speak to the sockets directly: what is admitted is decided on the other side.
 */
export function withForwarder(command: readonly string[], perl: string | null, given: Forwarding): readonly string[] {
  const ports = Object.entries(given.outward).map(([port, name]) => `${port}=${name}`)
  const args = [given.dir, String(given.inward ?? 0), ...ports, '--', ...command]
  return perl === null
    ? ['/bin/sh', '-c', shellScript, 'sh', 'node', nodeScript, ...args]
    : [perl, '-e', perlScript, ...args]
}

/**
 * Only what perl has built in: its module for sockets would take three times as long to load as all of perl. Hence the numbers, which are
 * those of Linux: the families 1 (local), 2 and 10, fcntl 4 and 2048 (do not block), error 11 (would block), option 41/26 (not only IPv6).
 */
const perlScript = `
$0 = 'aetheel-network';
my ($dir, $inward) = splice @ARGV, 0, 2;
my (%listening, %open);
while (defined($_ = shift) and $_ ne '--') {
  my ($port, $name) = split /=/;
  my $socket;
  socket $socket, 10, 1, 0 and setsockopt $socket, 41, 26, pack 'i', 0 and bind $socket, pack 'S n N a16 N', 10, $port, 0, '', 0
    or socket $socket, 2, 1, 0 and bind $socket, pack 'S n a4 x8', 2, $port, ''
    or die "cannot listen on port $port: $!\\n";
  listen $socket, 64;
  $listening{fileno $socket} = [$socket, $name];
}
defined(my $child = fork) or die "cannot fork: $!\\n";
if ($child) {
  waitpid $child, 0;
  exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";
}
exit if fork;
$SIG{$_} = 'IGNORE' for qw(PIPE TERM INT HUP);
chdir $dir;
open STDIN, '<', '/dev/null'; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
sub dial { my $s; socket $s, $_[0], 1, 0 and connect $s, $_[1] or return; $s }
sub local_to { dial(1, pack 'S a*', 1, "$_[0]\\0") }
sub port_to { dial(2, pack 'S n a4 x8', 2, $_[0], "\\x7f\\0\\0\\1") }
sub keep { fcntl $_[0], 4, 2048; $open{fileno $_[0]} = { fh => $_[0], out => '' } }
sub join_to { $_[0]{to} = $_[1]; $_[1]{to} = $_[0] }
sub drop { for my $one (grep { $_ } $_[0], $_[0]{to}) { delete $open{fileno $one->{fh}}; close $one->{fh}; $one->{gone} = 1; delete $one->{to} if $one != $_[0] } delete $_[0]{to} }
sub flush {
  my ($one) = @_;
  if (length $one->{out}) {
    my $sent = syswrite $one->{fh}, $one->{out};
    return $! == 11 ? 1 : drop($one) unless defined $sent;
    substr $one->{out}, 0, $sent, '';
  }
  if (!length $one->{out} and $one->{to}{ended} and !$one->{shut}) {
    shutdown $one->{fh}, 1;
    $one->{shut} = 1;
    drop($one) if $one->{to}{shut};
  }
}
sub park { my $s = local_to('inward') or return; keep($s)->{waiting} = 1 }
if ($inward) { park() for 1 .. 4 }
for (;;) {
  my ($r, $w) = ('', '');
  if (keys %open < 400) { vec($r, $_, 1) = 1 for keys %listening }
  for (values %open) {
    vec($r, fileno $_->{fh}, 1) = 1 if !$_->{ended} and (!$_->{to} or length $_->{to}{out} < 262144);
    vec($w, fileno $_->{fh}, 1) = 1 if length $_->{out};
  }
  select $r, $w, undef, undef;
  for my $n (keys %listening) {
    next unless vec $r, $n, 1;
    accept my $s, $listening{$n}[0] or next;
    my $out = local_to($listening{$n}[1]) or next;
    join_to(keep($s), keep($out));
  }
  my @now = values %open;
  for my $one (@now) {
    next if $one->{gone};
    my $n = fileno $one->{fh};
    flush($one) if vec $w, $n, 1;
    next if $one->{gone} or !vec $r, $n, 1;
    my $got = sysread $one->{fh}, my $piece, 65536;
    if (!defined $got) { drop($one) unless $! == 11; next }
    if ($one->{waiting}) {
      my $in = $got ? port_to($inward) : undef;
      if (!$in) { drop($one); next }
      delete $one->{waiting};
      join_to($one, keep($in));
      park();
    }
    if ($got) { $one->{to}{out} .= $piece } else { $one->{ended} = 1 }
    flush($one->{to});
  }
}
`

/** Waits until Node closes its output, which it does when it listens. */
const shellScript =
  'node=$1 code=$2; shift 2; ready=$("$node" -e "$code" -- "$@" < /dev/null 2> /dev/null &); while [ "$1" != -- ]; do shift; done; shift; exec "$@"'

const nodeScript = `
const net = require('node:net');
process.title = 'aetheel-network';
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
const [dir, inward, ...rest] = process.argv.slice(1);
process.chdir(dir);
const join = (a, b) => {
  for (const [from, to] of [[a, b], [b, a]]) from.on('error', () => to.destroy()).on('close', () => to.destroy()).pipe(to);
};
const ports = rest.slice(0, rest.indexOf('--')).map(one => one.split('='));
const park = () => {
  const out = net.connect({ path: 'inward', allowHalfOpen: true }).on('error', () => {});
  out.once('readable', () => {
    const piece = out.read();
    if (piece === null) return out.destroy();
    out.unshift(piece);
    join(out, net.connect({ host: '127.0.0.1', port: Number(inward), allowHalfOpen: true }));
    park();
  });
};
if (inward !== '0') for (let i = 0; i < 4; i++) park();
let waiting = ports.length;
const fs = require('node:fs');
// Nothing else may get this number.
const ready = () => { fs.closeSync(1); fs.openSync('/dev/null', 'r+'); };
if (waiting === 0) ready();
for (const [port, name] of ports) {
  const server = net.createServer({ allowHalfOpen: true }, one => join(one, net.connect({ path: name, allowHalfOpen: true })));
  server.on('error', () => process.exit(1)).listen(Number(port), () => { if (--waiting === 0) ready(); });
}
`
