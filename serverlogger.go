package weft

import (
	"log/slog"

	"github.com/weftrpc/weft/internal/logger"
)

// LoggerOf returns where a server logs: ServerConfig.Logger, or else slog.Default() for warnings and
// errors. It is for what belongs to a server and has no logger of its own, such as package health.
func LoggerOf(s *Server) *slog.Logger { return logger.OrDefault(s.cfg.Logger) }
