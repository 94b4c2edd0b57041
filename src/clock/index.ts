// The front door of clock/: time passes, and what is written in heartbeat.md and agents.md falls due.
export { type JobsParts, openJobs } from './jobs.ts'
export { readAgentsFile, readSchedules } from './schedule-files.ts'
