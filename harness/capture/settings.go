package capture

import (
	"context"
	"errors"

	"heddle/harness/clients"
	"heddle/yarnclient"
)

// amHeartbeat is the MapReduce property that sets the interval at which
// ApplicationMasters ask YARN for containers.
const amHeartbeat = "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms"

// placementSettings are the YARN properties that affect on which nodes tasks start, and
// when. The header of a trace holds those that are set.
var placementSettings = []string{
	"yarn.resourcemanager.scheduler.class",
	"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
	"yarn.nm.liveness-monitor.expiry-interval-ms",
	"yarn.node-labels.enabled",
	"yarn.scheduler.minimum-allocation-mb",
	"yarn.scheduler.capacity.node-locality-delay",
	"yarn.scheduler.capacity.rack-locality-additional-delay",
	"yarn.scheduler.capacity.resource-calculator",
	"yarn.scheduler.capacity.schedule-asynchronously.enable",
	"yarn.scheduler.capacity.per-node-heartbeat.maximum-container-assignments",
	"yarn.scheduler.fair.locality.threshold.node",
	"yarn.scheduler.fair.locality.threshold.rack",
}

// readSettings asks the ResourceManager for the properties in placementSettings. It
// first asks for the scheduler's current configuration, which not every cluster
// reports. Each property missing there is asked for by a call of its own.
func readSettings(ctx context.Context, cluster *clients.Clients) (map[string]string, error) {
	settings := map[string]string{}
	scheduler, err := cluster.RM.SchedulerConf(ctx)
	if err != nil && errors.Is(err, yarnclient.ErrUnreachable) {
		return nil, err
	}
	for _, name := range placementSettings {
		if value, ok := scheduler[name]; ok {
			settings[name] = value
			continue
		}
		value, err := cluster.RM.Conf(ctx, name)
		switch {
		case err == nil:
			settings[name] = value
		case !errors.Is(err, yarnclient.ErrNotFound):
			return nil, err
		}
	}
	// The history server is asked for this MapReduce property, because the
	// ResourceManager lacks it.
	if value, err := cluster.History.Conf(ctx, amHeartbeat); err == nil {
		settings[amHeartbeat] = value
	}
	return settings, nil
}
