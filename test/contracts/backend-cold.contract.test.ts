// Backends with a process for each turn.
import { holdBackends, holdDialects } from './backend.suite.ts'

holdBackends('cold')
holdDialects()
