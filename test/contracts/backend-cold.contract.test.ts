// Cold backends: one process per turn.
import { holdBackends, holdDialects } from './backend.suite.ts'

holdBackends('cold')
holdDialects()
