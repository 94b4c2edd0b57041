#!/bin/bash
# Stands in front of a real CLI and notes three things: when it was started itself, when it started the CLI, and when each
# piece of output went by. All times are of the clock that only goes forward. The output is passed on as it comes, unread.
began=$EPOCHREALTIME
exec perl -MTime::HiRes=time,clock_gettime,CLOCK_MONOTONIC -e '
  my ($began, $notes, @command) = @ARGV;
  my $at = sub { sprintf "%.3f", 1000 * clock_gettime(CLOCK_MONOTONIC) };
  my $behind = clock_gettime(CLOCK_MONOTONIC) - time;
  open my $log, ">>:raw", $notes or die "$notes: $!";
  pipe my $from, my $to or die $!;
  syswrite $log, sprintf "began %.3f\nstarted %s\n", 1000 * ($began + $behind), $at->();
  my $pid = fork // die $!;
  if ($pid == 0) {
    open STDOUT, ">&", $to;
    close $_ for $from, $to, $log;
    exec { $command[0] } @command;
    exit(127);
  }
  close $to;
  while (sysread $from, my $piece, 65536) {
    my $when = $at->();
    for (my $sent = 0; $sent < length $piece;) { $sent += syswrite(STDOUT, $piece, length($piece) - $sent, $sent) // exit(1) }
    syswrite $log, sprintf "piece %s %d\n%s", $when, length $piece, $piece;
  }
  waitpid $pid, 0;
  my $code = $? >> 8 || $? & 127;
  syswrite $log, sprintf "left %s\n", $at->();
  exit($code);
' "$began" "$BENCH_NOTES" "$BENCH_PROGRAM" "$@"
