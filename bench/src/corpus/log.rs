//! Lines as the log of a service has them, one in ten with CJK text.

use std::fmt::Write;

use super::random::Random;

const LEVELS: [&str; 4] = ["DEBUG", "INFO ", "INFO ", "WARN "];
const WHAT: [&str; 6] = [
    "request served",
    "cache miss, asking the origin",
    "connection closed by peer",
    "retrying after a timeout, attempt 2 of 5",
    "checkpoint written to /var/lib/service/checkpoints/current",
    "query took longer than expected: SELECT id, name, updated FROM items WHERE owner = $1 ORDER BY updated DESC LIMIT 50",
];
const WHAT_CJK: [&str; 4] =
    ["请求已完成，缓存未命中", "リクエストがタイムアウトしました", "연결이 종료되었습니다", "文件已写入磁盘"];

/// An endless log.
#[derive(Debug)]
pub(crate) struct Log {
    random: Random,
    milliseconds: u64,
    line: String,
}

impl Log {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), milliseconds: 0, line: String::new() }
    }

    /// With its line break.
    pub(crate) fn next_line(&mut self) -> &str {
        let Self { random, milliseconds, line } = self;
        *milliseconds += random.below(40);
        let (seconds, rest) = (*milliseconds / 1000, *milliseconds % 1000);
        let (day, hour, minute, second) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let what = if random.below(10) == 0 { random.pick(&WHAT_CJK) } else { random.pick(&WHAT) };
        let (level, worker, id) = (random.pick(&LEVELS), random.below(16), random.next());
        line.clear();
        // Writing to a string cannot fail.
        let _ = writeln!(
            line,
            "{day:03}T{hour:02}:{minute:02}:{second:02}.{rest:03} {level} worker-{worker:02} [{id:016x}] {what}"
        );
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_ten_has_cjk_text() {
        let mut log = Log::new(1);
        let cjk = (0..1000).filter(|_| !log.next_line().is_ascii()).count();
        assert!((70..130).contains(&cjk), "{cjk}");
    }

    #[test]
    fn every_line_is_one() {
        let mut log = Log::new(1);
        assert!((0..1000).all(|_| log.next_line().find('\n') == Some(log.line.len() - 1)));
    }
}
