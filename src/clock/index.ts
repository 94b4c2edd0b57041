// The public interface of clock/: the jobs of heartbeat.md and agents.md.
export { createJobs, type JobsParts } from './jobs.ts'
export { agentsFileReader, readAgentsFile, readSchedules } from './schedule-files.ts'
