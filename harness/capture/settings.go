package capture

import (
	"context"
	"errors"

	"heddle/harness/clients"
	"heddle/yarnclient"
)

// amHeartbeat is the property for the interval at which ApplicationMasters ask for
// containers.
const amHeartbeat = "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms"

// placementSettings are properties of the cluster that affect placement and its
// timing. The header of the trace has those that are set.
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

// readSettings asks the ResourceManager for placementSettings, first at the
// scheduler's own address if the cluster has that.
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
	// The history server has MapReduce's properties.
	if value, err := cluster.History.Conf(ctx, amHeartbeat); err == nil {
		settings[amHeartbeat] = value
	}
	return settings, nil
}

// javaVersion is the version of the ResourceManager's Java; empty if it does not
// tell.
func javaVersion(ctx context.Context, cluster *clients.Clients) string {
	beans, err := cluster.RM.JMX(ctx, "java.lang:type=Runtime")
	if err != nil || len(beans) == 0 {
		return ""
	}
	version, _ := beans[0]["VmVersion"].(string)
	return version
}
