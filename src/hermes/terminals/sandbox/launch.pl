# Enters a box and becomes the command. Its arguments are steps, done in order, then `--` and the
# command; landlock.py writes them and says why. A step that fails ends everything: nothing runs.
#
# Perl, because it stands in front of every command: it starts in 2 ms where Python needs 15, and
# its `syscall` reaches what no program of an older system offers. For the same reason it loads no
# module, not even `strict`: a test reads it with that.

my %NUMBERS = (
    x86_64  => { prctl => 157, capset => 126, mount => 165, unshare => 272, openat => 257 },
    aarch64 => { prctl => 167, capset => 91,  mount => 40,  unshare => 97,  openat => 56 },
);
my ($OPEN_TREE, $MOVE_MOUNT, $MOUNT_SETATTR) = (428, 429, 442);   # the same everywhere
my ($CREATE_RULESET, $ADD_RULE, $RESTRICT_SELF) = (444, 445, 446);
my ($CWD, $RECURSIVE, $CLONE, $CLOEXEC) = (-100, 0x8000, 1, 0x80000);
my ($NOSUID, $NODEV, $NOEXEC, $READ_ONLY, $BIND, $REC, $PRIVATE) = (2, 4, 8, 1, 4096, 16384, 1 << 18);
my ($EVERY_RIGHT, $EVERY_SCOPE) = ((1 << 16) - 1, 3);
my $FAILED = 125;

my $number = $NUMBERS{ shift @ARGV } or leave("this machine's kind");
my (@taken, $ruleset, $door);
my ($LINKS_MAX, $TRIES, $PAUSE_S) = (24, 100, 0.1);

my %STEPS = (
    unshare => [1, sub { done(syscall($number->{unshare}, 0 + $_[0])) }],
    map     => [2, \&map_ids],
    init    => [0, \&init],
    private => [0, sub { attach("none", "/", "", $REC | $PRIVATE) }],
    take    => [1, \&take],
    freeze  => [1, sub { freeze($_[0], $RECURSIVE) }],
    still   => [1, sub { freeze($_[0], 0) }],
    tmpfs   => [2, sub { attach("tmpfs", $_[0], "tmpfs", $NOSUID | $NODEV, $_[1]) }],
    folder  => [1, sub { folder($_[0]) }],
    put     => [2, \&put],
    pin     => [1, sub { attach($_[0], $_[0], "", $BIND | $REC) }],
    lock    => [1, sub { attach($_[0], $_[0], "", $BIND | $REC); freeze($_[0], $RECURSIVE) }],
    hide    => [1, \&hide],
    proc    => [0, sub { attach("proc", "/proc", "proc", $NOSUID | $NODEV | $NOEXEC | $READ_ONLY) }],
    lo      => [0, \&loopback],
    door    => [1, sub { opendir($door, $_[0]) or leave("$_[0]: $!") }],
    bridge  => [2, \&bridge],
    enter   => [1, sub { done(chdir $_[0] ? 0 : -1) }],
    rules   => [0, \&rules],
    allow   => [2, \&allow],
    bare    => [0, \&bare],
    seal    => [0, \&seal],
    filter  => [1, \&filter],
);

our $said = "";
while (@ARGV and (my $step = shift @ARGV) ne "--") {
    my ($count, $act) = @{ $STEPS{$step} or leave("the step $step") };
    my @words = splice @ARGV, 0, $count;
    $said = join " ", $step, $step eq "filter" ? () : @words;
    $act->(@words);
}
$said = "exec";
exec { $ARGV[0] } @ARGV or leave("exec $ARGV[0]: $!");

sub leave {
    print STDERR "The sandbox could not be built ($_[0]). Nothing was run.\n";
    exit $FAILED;
}

sub done {
    leave("$said: $!") if $_[0] < 0;
    return $_[0];
}

sub attach {
    my ($source, $target, $type, $flags, $options) = (@_, "");
    done(syscall($number->{mount}, $source, $target, $type, $flags, $options));
}

sub map_ids {
    my ($user, $group) = @_;
    note("/proc/self/setgroups", "deny");
    note("/proc/self/uid_map", "$user $user 1");
    note("/proc/self/gid_map", "$group $group 1");
}

sub note {
    my ($file, $text) = @_;
    open(my $out, ">", $file) or leave("$file: $!");
    syswrite($out, $text) // leave("$file: $!");
    close $out;
}

# The first process of the new pid namespace waits for the command and dies with it: the kernel then
# ends whatever is left inside. We wait outside. Both let the polite signals pass to the command.
sub init {
    @SIG{qw(HUP INT TERM)} = ("IGNORE") x 3;
    wait_for(split_off());
    done(syscall($number->{prctl}, 1, 9, 0, 0, 0));    # if we are killed outside, die
    wait_for(split_off());
    @SIG{qw(HUP INT TERM)} = ("DEFAULT") x 3;
}

sub split_off {
    my $child = fork;
    leave("fork: $!") unless defined $child;
    return $child;
}

sub wait_for {
    my ($child) = @_;
    return if $child == 0;
    while ((my $ended = wait) != $child) { exit $FAILED if $ended < 0 }
    exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

sub take {
    my $tree = done(syscall($OPEN_TREE, $CWD, "$_[0]", $CLONE | $RECURSIVE | $CLOEXEC));
    push @taken, $tree;
}

sub put {
    my ($kind, $path) = @_;
    if ($kind eq "folder") { folder($path) }
    elsif (not -e $path) {
        folder(substr($path, 0, rindex($path, "/")));
        open(my $made, ">", $path) or leave("$path: $!");
        close $made;
    }
    my ($tree, $nowhere) = (shift @taken, "");
    done(syscall($MOVE_MOUNT, $tree, $nowhere, $CWD, $path, 4));
}

sub folder {
    my ($path) = @_;
    return if $path eq "" or -d $path;
    folder(substr($path, 0, rindex($path, "/")));
    mkdir($path, 0700) or leave("$path: $!");
}

sub freeze {
    my ($path, $flags) = @_;
    my $change = pack("Q4", $READ_ONLY, 0, 0, 0);
    done(syscall($MOUNT_SETATTR, $CWD, $path, $flags, $change, 32));
}

sub hide {
    my ($path) = @_;
    if (-d $path) { attach("tmpfs", $path, "tmpfs", $READ_ONLY | $NOSUID | $NODEV, "mode=0555,size=4k") }
    else          { attach("/dev/null", $path, "", $BIND) }
}

sub loopback {
    socket(my $any, 2, 2, 0) or leave("lo: $!");
    my $up = pack("a16 s x22", "lo", 0x41);
    ioctl($any, 0x8914, $up) or leave("lo: $!");
}

# A port of this box leads to the proxy. It is open before the command begins; who serves it is no
# child of the command, holds none of its files, and can do nothing but connect.
sub bridge {
    my ($port, $sealed) = @_;
    socket(my $ear, 2, 1, 0) or leave("bridge: $!");
    setsockopt($ear, 1, 2, 1) or leave("bridge: $!");
    bind($ear, pack("S n C4 x8", 2, $port, 127, 0, 0, 1)) or leave("bridge: $!");
    listen($ear, 64) or leave("bridge: $!");
    if (my $between = split_off()) { waitpid($between, 0); close $ear; return closedir $door }
    exit 0 if split_off();
    open(STDIN, "<", "/dev/null"); open(STDOUT, ">", "/dev/null"); open(STDERR, ">", "/dev/null");
    @SIG{qw(HUP INT TERM PIPE)} = ("IGNORE") x 4;
    chdir $door or exit 1;
    if ($sealed eq "sealed") { bare(); rules(); seal() }
    my $links = 0;
    while (accept(my $one, $ear)) {
        $links-- while $links > 0 and waitpid(-1, $links >= $LINKS_MAX ? 0 : 1) > 0;
        my $child = fork;
        if (defined $child and $child == 0) { close $ear; joined($one); exit 0 }
        $links++ if $child;
    }
    exit 1;
}

# A gateway that starts anew has no proxy for a moment: it is waited for.
sub joined {
    my ($one) = @_;
    my $tries = 0;
    my $proxy;
    until (socket($proxy, 1, 1, 0) and connect($proxy, pack("S a108", 1, "proxy"))) {
        exit 1 if ++$tries > $TRIES;
        select(undef, undef, undef, $PAUSE_S);
    }
    my $child = fork;
    exit 1 unless defined $child;
    $child ? pour($one, $proxy) : pour($proxy, $one);
    waitpid($child, 0) if $child;
}

sub pour {
    my ($from, $to) = @_;
    while (sysread($from, my $piece, 65536)) {
        for (my $at = 0; $at < length $piece; ) {
            my $sent = syswrite($to, $piece, length($piece) - $at, $at);
            exit 1 unless $sent;
            $at += $sent;
        }
    }
    shutdown($to, 1);
}

sub rules {
    my $handled = pack("Q3", $EVERY_RIGHT, 0, $EVERY_SCOPE);
    $ruleset = done(syscall($CREATE_RULESET, $handled, 24, 0));
}

sub allow {
    my ($rights, $path) = @_;
    my $place = syscall($number->{openat}, $CWD, $path, 0x200000 | $CLOEXEC, 0);
    return if $place < 0 and $! == 2;                  # gone since it was looked at
    my $rule = pack("Ql", $rights, done($place));
    done(syscall($ADD_RULE, $ruleset, 1, $rule, 0));   # what is open closes with the exec
}

# No capability now, none after an exec, none for root.
sub bare {
    for my $one (0 .. 63) { last if syscall($number->{prctl}, 24, $one, 0, 0, 0) < 0 }
    syscall($number->{prctl}, 28, 0x2f, 0, 0, 0);      # secure bits need a right that we may lack
    my ($myself, $nothing) = (pack("Ll", 0x20080522, 0), pack("L6", (0) x 6));
    done(syscall($number->{capset}, $myself, $nothing));
}

sub seal {
    done(syscall($number->{prctl}, 38, 1, 0, 0, 0));   # no new privileges
    done(syscall($RESTRICT_SELF, $ruleset, 0));
}

sub filter {
    my $program = pack("H*", $_[0]);
    my $header = pack("S x6 P", length($program) / 8, $program);
    done(syscall($number->{prctl}, 22, 2, $header, 0, 0));
}
