// The front door of clock/: time passes, and what is written in heartbeat.md and agents.md falls due.
export { readCronJobs } from './cron-file.ts'
export { readHeartbeats } from './heartbeat-file.ts'
